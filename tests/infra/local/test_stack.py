"""The whole local stack with stand-ins for the functions and the model: real processes, real Valkey, real delivery."""

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from infra.local.parts import CACHE, GATEWAY, MODEL
from infra.local.probes import valkey_probe
from infra.local.processes import PartFailedError
from infra.local.stack import Stack, start_stack
from preheat import names
from tests.infra.local.liveness import survivors
from tests.infra.local.standins.supervisor import standin_options

WAIT_S = 20.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with start_stack(standin_options(tmp_path_factory.mktemp("stack"))) as stack:
        yield stack
        stack.check()


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {stack.token('acme', 'ada')}"}
    with httpx.Client(base_url=stack.urls["gateway"], headers=headers, timeout=WAIT_S) as client:
        yield client


def publish(stack: Stack, detail_type: str, detail: dict[str, object]) -> None:
    result = stack.client("events").put_events(
        Entries=[
            {
                "EventBusName": names.BUS,
                "Source": names.EVENT_SOURCE,
                "DetailType": detail_type,
                "Detail": json.dumps(detail),
            }
        ]
    )
    assert result["FailedEntryCount"] == 0


def test_event__travels_from_the_bus_through_queue_and_worker_to_the_table(stack: Stack) -> None:
    publish(stack, names.SESSION_STARTED, {"session_id": "s1"})
    key = {names.PARTITION_KEY: {"S": "s1"}, names.SORT_KEY: {"S": "seen"}}
    deadline = time.monotonic() + WAIT_S
    while not (item := stack.client("dynamodb").get_item(TableName=names.WARM_TABLE, Key=key).get("Item")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    record = json.loads(item["record"]["S"])
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"] == f"arn:aws:sqs:us-east-1:123456789012:{names.WARM_QUEUE}"
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert json.loads(record["body"])["detail-type"] == names.SESSION_STARTED
    assert item["dead_letters"]["S"] == stack.addresses.queue_url(names.WARM_DEAD_LETTERS)


def test_event__that_always_fails_ends_in_its_dead_letters(stack: Stack) -> None:
    publish(stack, names.PREFERENCE_CHANGED, {"key": "seat"})
    url = stack.addresses.queue_url(names.PREFERENCE_DEAD_LETTERS)
    deadline = time.monotonic() + WAIT_S
    while not (messages := stack.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", [])):
        assert time.monotonic() < deadline
    (message,) = messages
    assert json.loads(message["Body"])["detail"] == {"key": "seat"}


def test_gateway__calls_the_api_with_its_own_memory_and_time(client: httpx.Client) -> None:
    answer = client.put("/v1/agents/travel", json={"instructions": "be brief"}).json()
    assert json.loads(answer["event"]["body"]) == {"instructions": "be brief"}
    assert answer["function"] == names.API
    assert 0 < answer["left_ms"] <= 15_000


def test_gateway__streams_what_chat_answers(client: httpx.Client) -> None:
    with client.stream("POST", "/v1/chat/completions", json={"message": "hello"}) as response:
        lines = [line for line in response.iter_lines() if line]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert lines == ["data: acme", "data: hello", "data: [DONE]"]


def test_gateway__an_over_long_body_gets_its_answer_over_a_real_socket(client: httpx.Client) -> None:
    response = client.post("/v1/chat/completions", content=(b"x" * 65_536 for _ in range(40)))
    assert response.status_code == 413


def test_gateway__a_failure_shows_no_cause_and_logs_it(stack: Stack, client: httpx.Client) -> None:
    response = client.put("/v1/agents/travel", content=b"raise")
    assert response.status_code == 502
    assert "secret" not in response.text
    assert "a secret cause" in stack.log(GATEWAY).read_text()


def test_gateway__refuses_a_token_of_another_secret(client: httpx.Client) -> None:
    assert client.get("/v1/agents/travel", headers={"Authorization": "Bearer a.b.c"}).status_code == 401


def test_cache__may_be_killed_and_comes_back_empty_at_its_address(stack: Stack) -> None:
    ready = valkey_probe(stack.addresses.cache)
    assert ready()
    stack.kill_cache()
    assert not ready()
    assert CACHE not in stack.pids
    stack.check()
    stack.restart_cache()
    assert ready()
    assert CACHE in stack.pids


def test_start__a_part_that_dies_is_named_with_its_log_and_nothing_is_left(tmp_path: Path) -> None:
    options = replace(standin_options(tmp_path), functions="tests.infra.local.no_such_package")
    seen: list[Stack] = []
    with pytest.raises(PartFailedError) as failed, start_stack(options) as stack:
        seen.append(stack)
    assert seen == []
    assert "exited with 1" in failed.value.reason
    assert "no_such_package" in failed.value.log_tail


def test_start__a_part_that_never_gets_ready_is_named(tmp_path: Path) -> None:
    options = replace(standin_options(tmp_path), model_command=("/bin/sleep", "30"), start_timeout_s=0.0)
    with pytest.raises(PartFailedError, match="was not ready after 0 s"), start_stack(options):
        pass


def test_check__a_part_that_crashes_is_named_and_everything_ends(tmp_path: Path) -> None:
    with start_stack(standin_options(tmp_path)) as stack:
        pids = dict(stack.pids)
        os.kill(pids[MODEL], signal.SIGKILL)
        with pytest.raises(PartFailedError) as failed:
            stack.wait(WAIT_S)
    assert failed.value.part == MODEL
    assert failed.value.reason == "was ended by SIGKILL"
    assert survivors(pids.values(), wait_s=5) == []
