"""The shipped model behind the contract, reached by boto3. Asserted on the engine's own token counts, never on time."""

import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from tests.infra.local.model.conftest import Answered, Caller

SHARE = 0.95
PATIENCE_S = 60.0


class WarmUp:
    """A warm-up in a thread of its own: boto3 blocks."""

    def __init__(self, caller: "Caller", body: bytes, *, session: str) -> None:
        self.answered: Answered | None = None
        self.refused: tuple[int, str] = (0, "")
        self._thread = threading.Thread(target=self._run, args=(caller, body, session))
        self._thread.start()
        wait_until(lambda: caller.tokens_read() >= 64)

    def _run(self, caller: "Caller", body: bytes, session: str) -> None:
        try:
            self.answered = caller.invoke(body, session=session, warm_up=True)
        except ClientError as error:
            self.refused = caller.original(error)

    def join(self) -> "WarmUp":
        self._thread.join(PATIENCE_S)
        return self


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_invoke__reports_what_was_read_and_reused(model_caller: "Caller") -> None:
    body = model_caller.body(model_caller.words(200, seed=1), cache_salt="reuse")

    cold = model_caller.invoke(body, session="reuse")
    warm = model_caller.invoke(body, session="reuse")

    assert cold.cached_tokens <= int(str(model_caller.engine()["template_shared_tokens"]))
    assert warm.cached_tokens >= SHARE * cold.prompt_tokens
    assert warm.engine_id == cold.engine_id == model_caller.engine()["engine_id"]


def test_invoke__a_warm_up_s_prefix_is_reused_by_the_message(model_caller: "Caller") -> None:
    system = model_caller.words(150, seed=2)
    prefix = json.dumps({"messages": [{"role": "system", "content": system}], "cache_salt": "p", "max_tokens": 1})

    warmed = model_caller.invoke(prefix.encode(), session="prefix", warm_up=True)
    answer = model_caller.invoke(model_caller.body(system, "Which is it?", cache_salt="p"), session="prefix")

    assert answer.cached_tokens >= SHARE * warmed.prompt_tokens


def test_invoke__another_salt_shares_only_the_template(model_caller: "Caller") -> None:
    system = model_caller.words(100, seed=3)
    body_a, body_b = (model_caller.body(system, cache_salt=salt) for salt in ("tenant-a", "tenant-b"))

    model_caller.invoke(body_a, session="same")
    other = model_caller.invoke(body_b, session="same")
    again = model_caller.invoke(body_a, session="same")

    assert other.cached_tokens <= int(str(model_caller.engine()["template_shared_tokens"]))
    assert again.cached_tokens >= SHARE * again.prompt_tokens


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_invoke__warm_text_equals_cold_text(model_caller: "Caller", seed: int) -> None:
    system, question = model_caller.words(70 + seed, seed=seed), f"Tell me about {seed}."
    prefix = json.dumps({"messages": [{"role": "system", "content": system}], "max_tokens": 1}).encode()

    cold = model_caller.invoke(model_caller.body(system, question, max_tokens=16, cache_prompt=False))
    model_caller.invoke(prefix, session=f"text-{seed}", warm_up=True)
    warm = model_caller.invoke(model_caller.body(system, question, max_tokens=16), session=f"text-{seed}")

    assert cold.cached_tokens == 0
    assert warm.cached_tokens >= 70
    assert warm.text == cold.text


def test_invoke__more_sessions_of_one_agent_than_slots_all_stay_warm(model_caller: "Caller") -> None:
    agent = model_caller.words(110, seed=4)
    bodies = [model_caller.body(f"{agent} {model_caller.words(30, seed=40 + user)}") for user in range(5)]

    first = [model_caller.invoke(body, session=f"user-{user}") for user, body in enumerate(bodies)]
    second = [model_caller.invoke(body, session=f"user-{user}") for user, body in enumerate(bodies)]

    assert all(one.cached_tokens >= 100 for one in first[1:]), "the agent's part is shared"
    assert all(one.cached_tokens >= SHARE * one.prompt_tokens for one in second)


def test_stream__is_server_sent_events_with_usage_at_the_end(model_caller: "Caller") -> None:
    body = model_caller.body("Be brief.", max_tokens=4, stream=True, stream_options={"include_usage": True})

    response = model_caller.client.invoke_endpoint_with_response_stream(EndpointName="preheat", Body=body)
    payloads = [event["PayloadPart"]["Bytes"] for event in response["Body"]]

    assert response["ContentType"] == "text/event-stream"
    assert response["InvokedProductionVariant"] == model_caller.engine()["engine_id"]
    assert all(payload.startswith(b"data: ") and payload.endswith(b"\n\n") for payload in payloads)
    assert payloads[-1] == b"data: [DONE]\n\n"
    chunks = [json.loads(payload[6:]) for payload in payloads[:-1]]
    assert sum(bool(chunk["choices"] and chunk["choices"][0]["delta"].get("content")) for chunk in chunks) >= 1
    assert chunks[-1]["usage"]["completion_tokens"] == 4
    assert "cached_tokens" in chunks[-1]["usage"]["prompt_tokens_details"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"max_tokens": 1000}, "maximum context length is 1024 tokens"),
        ({"messages": [{"role": "user", "content": "word " * 1100}]}, "exceeds the available context size"),
    ],
)
def test_invoke__refuses_what_the_container_in_the_cloud_refuses(
    model_caller: "Caller", fields: dict[str, object], words: str, *, streaming: bool
) -> None:
    client = model_caller.client
    call = client.invoke_endpoint_with_response_stream if streaming else client.invoke_endpoint

    with pytest.raises(client.exceptions.ModelError) as caught:
        call(EndpointName="preheat", Body=model_caller.body("Be brief. " * 20, **{**fields, "stream": streaming}))

    status, message = model_caller.original(caught.value)
    assert status == 400
    assert words in message


def test_invoke__malformed_json(model_caller: "Caller") -> None:
    with pytest.raises(model_caller.client.exceptions.ModelError) as caught:
        model_caller.invoke(b'{"messages": [')

    assert model_caller.original(caught.value)[0] == 400


def test_invoke__unknown_endpoint(model_caller: "Caller") -> None:
    with pytest.raises(ClientError, match="Endpoint other of account 123456789012 not found") as caught:
        model_caller.invoke(model_caller.body("x"), endpoint="other")

    assert caught.value.response["Error"]["Code"] == "ValidationError"


def test_invoke__body_over_the_limit(model_caller: "Caller") -> None:
    with pytest.raises(ClientError, match="less than or equal to 6291456") as caught:
        model_caller.invoke(model_caller.body("x" * 6_300_000))

    assert caught.value.response["Error"]["Code"] == "ValidationError"


def test_answer__takes_over_the_running_warm_up_of_its_session(model_caller: "Caller") -> None:
    system = model_caller.words(500, seed=5)
    warm_up = WarmUp(model_caller, model_caller.body(system, cache_salt="join"), session="join")

    answer = model_caller.invoke(model_caller.body(system, "And now?", cache_salt="join"), session="join")
    warm_up.join()

    status, message = warm_up.refused
    assert status == 503
    assert "superseded by an answer" in message
    assert 64 <= answer.cached_tokens < answer.prompt_tokens


def test_answer__of_another_session_goes_first_and_the_warm_up_goes_on(model_caller: "Caller") -> None:
    body = model_caller.body(model_caller.words(500, seed=6), cache_salt="pause")
    warm_up = WarmUp(model_caller, body, session="pause")

    model_caller.invoke(model_caller.body("Hello"), session="other")
    ended_before_the_answer = warm_up.answered is not None
    warmed = warm_up.join().answered
    again = model_caller.invoke(body, session="pause")

    assert not ended_before_the_answer
    assert warmed is not None
    assert warmed.cached_tokens >= 64, "what was read before the pause is kept"
    assert again.cached_tokens >= SHARE * again.prompt_tokens


def test_invocations__a_caller_that_hangs_up_frees_the_engine(model_caller: "Caller") -> None:
    system = model_caller.words(500, seed=7)
    body = model_caller.body(system, stream=True)
    with httpx.stream("POST", f"{model_caller.url}/invocations", content=body) as response:
        assert response.status_code == 200
        wait_until(lambda: model_caller.tokens_read() >= 64)

    wait_until(lambda: model_caller.running() == 0)
    later = model_caller.invoke(model_caller.body(system))

    assert 64 <= later.cached_tokens < SHARE * later.prompt_tokens, "it was dropped on the way, and kept"


def test_tokenize__is_the_engine_s_count(model_caller: "Caller") -> None:
    body = model_caller.body(model_caller.words(40, seed=8), cache_salt="count")

    tokens = httpx.post(f"{model_caller.url}/tokenize", content=body).raise_for_status().json()["tokens"]
    prompt_tokens = model_caller.invoke(body).prompt_tokens

    # The rest is the opening of the answer: `<|im_start|>assistant` and the end of the line.
    assert prompt_tokens - tokens == 4
    assert httpx.post(f"{model_caller.url}/tokenize", json={"text": "Hello there"}).json() == {"tokens": 2}


def test_engine__answers_directly_too(model_caller: "Caller") -> None:
    facts = model_caller.engine()
    body = model_caller.body(model_caller.words(30, seed=9))

    direct = httpx.post(f"{facts['url']}/v1/chat/completions", content=body).raise_for_status().json()

    assert direct["usage"]["prompt_tokens"] == model_caller.invoke(body).prompt_tokens
    assert (facts["context"], facts["slots"], facts["cache_salt"]) == (1024, 3, "text")
    assert httpx.get(f"{model_caller.url}/ping").status_code == 200
