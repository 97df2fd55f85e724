"""From session start to a warm first token, through every real part."""

import json
import time
from collections.abc import Callable

import httpx
import pytest

from infra.local.stack import Stack
from preheat import names
from tests.e2e.conftest import AGENT, USER, Client

pytestmark = pytest.mark.timeout(300)


def shared_tokens(stack: Stack) -> int:
    shared: int = httpx.get(f"{stack.urls['model']}/engine").json()["template_shared_tokens"]
    return shared


def test_main_job__session_start_makes_the_first_token_warm_by_the_engines_count(client: Client, stack: Stack) -> None:
    client.prefer("room", "sea view")
    shown = client.start_warm("s1")
    twin = client.twin("twin")
    twin.prefer("room", "sea view")
    twin.start("s1", warm=False)

    warm, cold = client.ask("s1"), twin.ask("s1")

    assert shown["warmed_tokens"] > 100
    assert warm.preheat["state"] == "warm"
    assert warm.preheat["reasons"] == []
    assert warm.preheat["reused_tokens"] >= 0.95 * shown["warmed_tokens"]
    assert cold.preheat["state"] == "cold"
    assert cold.preheat["reused_tokens"] <= shared_tokens(stack) + 2
    assert cold.usage["prompt_tokens"] == pytest.approx(warm.usage["prompt_tokens"], abs=8)
    assert cold.preheat["ms"]["prefill"] > 2 * warm.preheat["ms"]["prefill"]


def test_main_job__preference_changed_between_warm_up_and_message_is_in_the_answers_context(client: Client) -> None:
    client.prefer("room", "sea view")
    client.start_warm("s1")
    before = client.session("s1")["stamp"]
    client.prefer("room", "garden view")

    answer = client.ask("s1")

    assert before == "a1.c1.f0.p1.h0"
    assert answer.preheat["stamp"] == "a1.c1.f0.p2.h0"
    assert answer.preheat["state"] in {"warm", "stale-rebuilt"}
    assert answer.preheat["reused_tokens"] >= 0.95 * answer.preheat["warmed_tokens"]


def test_main_job__deleted_preference_leaves_the_prompt(client: Client) -> None:
    client.prefer("room", "sea view")
    client.start_warm("s1")
    with_it = client.ask("s1")
    client.call("DELETE", f"/v1/users/{USER}/preferences/room")
    client.start("s2", warm=False)

    without = client.ask("s2")

    assert without.preheat["stamp"].startswith("a1.c1.f1.p2")
    assert "preferences" in {section["name"] for section in with_it.preheat["sections"]}
    assert "preferences" not in {section["name"] for section in without.preheat["sections"]}


def test_main_job__same_event_three_times_is_one_prefill(client: Client, stack: Stack) -> None:
    client.publish({"tenant": client.tenant, "user": USER, "agent": AGENT, "session_id": "s3"}, times=3)
    _until(lambda: len(_outcomes(stack, "s3")) == 3)

    outcomes = sorted(_outcomes(stack, "s3"))

    assert outcomes.count("warm") == 1
    assert set(outcomes) <= {"warm", "already_warm", "in_flight"}


def test_main_job__malformed_event_ends_in_the_dead_letters_with_its_reason_and_others_are_done(
    client: Client, stack: Stack
) -> None:
    good = {"tenant": client.tenant, "user": USER, "agent": AGENT, "session_id": "good"}
    client.publish({**good, "session_id": "no good"})
    client.publish({**good, "agent": "unknown"})
    client.start("good")
    client.wait_until("good", "warm")

    reasons = _reasons(stack, names.WARM_DEAD_LETTERS, count=2)

    assert {reason.partition(":")[0] for reason in reasons} == {"session_id", "agent 'unknown' is not registered"}


def test_main_job__first_sixteen_tokens_are_equal_warm_and_cold(client: Client, stack: Stack) -> None:
    questions = [f"{what} {when}?" for what in QUESTIONS for when in ("today", "tomorrow", "on Sunday", "in winter")]
    answers = []
    for number, question in enumerate(questions):
        first = client.twin(str(number))
        first.start("s", warm=False)
        cold = first.ask("s", question, max_tokens=16)
        second = first.for_user("bob")
        second.start_warm("s")
        warm = second.ask("s", question, max_tokens=16)
        assert cold.preheat["reused_tokens"] <= shared_tokens(stack) + 2
        assert warm.preheat["state"] == "warm"
        answers.append((question, cold.text, warm.text))

    assert len(answers) == 20
    assert [one for one in answers if one[1] != one[2]] == []


QUESTIONS = ("When is breakfast", "Is there a boat", "Can I swim", "Where do I park", "May I bring my dog")


def test_main_job__killed_cache_degrades_the_answer_and_comes_back(client: Client, stack: Stack) -> None:
    client.start_warm("s1")
    stack.kill_cache()
    try:
        without = client.ask("s1")
    finally:
        stack.restart_cache()
    _until(lambda: client.ask("s1").preheat["state"] == "warm")

    assert without.status == 200
    assert without.preheat["state"] == "degraded"
    assert "valkey_unavailable" in without.preheat["reasons"]
    assert without.preheat["reused_tokens"] >= 0.95 * without.preheat["warmed_tokens"] > 0


def test_main_job__killed_model_is_a_503_and_its_restart_is_never_called_warm(client: Client, stack: Stack) -> None:
    client.start_warm("s1")
    stack.kill("model")
    try:
        down = client.ask("s1")
        client.start("s2")
        client.wait_until("s2", "failed")
    finally:
        stack.restart("model")
    back = client.ask("s1")
    again = client.ask("s1")

    assert down.status == 503
    assert down.problem["code"] == "endpoint_unavailable"
    assert back.preheat["state"] == "cold"
    assert back.preheat["reasons"] == ["engine_changed"]
    assert again.preheat["state"] == "warm"


def test_main_job__warm_table_gone_and_cache_dead_still_answers(client: Client, stack: Stack) -> None:
    client.start_warm("s1")
    dynamodb = stack.client("dynamodb")
    description = dynamodb.describe_table(TableName=names.WARM_TABLE)["Table"]
    dynamodb.delete_table(TableName=names.WARM_TABLE)
    stack.kill_cache()
    try:
        answer = client.ask("s1")
    finally:
        stack.restart_cache()
        dynamodb.create_table(
            TableName=names.WARM_TABLE,
            KeySchema=description["KeySchema"],
            AttributeDefinitions=description["AttributeDefinitions"],
            BillingMode="PAY_PER_REQUEST",
        )
    _until(lambda: client.ask("s1").preheat["state"] == "warm")

    assert answer.status == 200
    assert answer.preheat["state"] == "degraded"
    assert set(answer.preheat["reasons"]) >= {"valkey_unavailable", "dynamodb_unavailable"}


def test_main_job__token_of_another_user_or_none_is_refused(client: Client, stack: Stack) -> None:
    client.start_warm("s1")
    path = f"/v1/users/{USER}/sessions/s1"
    bob = {"Authorization": f"Bearer {stack.token(client.tenant, 'bob')}"}
    elsewhere = {"Authorization": f"Bearer {stack.token('other-tenant', 'app', service=True)}"}

    statuses = [
        httpx.get(f"{stack.urls['gateway']}{path}", headers=headers).status_code for headers in ({}, bob, elsewhere)
    ]

    assert statuses == [401, 403, 404]


def _until(holds: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _outcomes(stack: Stack, session: str) -> list[str]:
    lines = stack.log("warm_session").read_text().splitlines()
    logged = [json.loads(line) for line in lines if line.startswith('{"level"')]
    return [one["outcome"] for one in logged if one.get("session") == session]


def _reasons(stack: Stack, queue: str, *, count: int) -> list[str]:
    sqs = stack.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    reasons: list[str] = []
    deadline = time.monotonic() + 30
    while len(reasons) < count and time.monotonic() < deadline:
        received = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=1
        )
        reasons += [
            one["MessageAttributes"][names.REASON_ATTRIBUTE]["StringValue"] for one in received.get("Messages", [])
        ]
    return reasons
