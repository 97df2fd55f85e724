"""Calls of the API as a customer makes them."""

import pytest

from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from infra.local.demo.tenant_api import CallFailedError, TenantApi, WarmUpError, batches
from preheat.ports import NewTurn
from preheat.session import SessionId
from tests.infra.local.demo.stand_in_gateway import Script


@pytest.fixture
def api(stage: Stage) -> TenantApi:
    return stage.tenant("one")


def turn(number: int, content: str = "hello") -> NewTurn:
    return NewTurn(f"t{number}", SessionId("s"), "user", content)


def test_load__registers_all_there_is(api: TenantApi, sized: SizedTenant, script: Script) -> None:
    with api:
        api.load(sized.data, sized.budgets)
    (agent,) = script.bodies("PUT", f"/agents/{sized.data.agent}")
    assert agent["budgets"]["history_tokens"] == sized.budgets.history_tokens
    assert agent["servers"] == sized.data.catalog["servers"]
    appended = [one for body in script.bodies("POST", "/turns") for one in body["turns"]]
    assert [one["id"] for one in appended] == [one.turn_id for one in sized.data.turns]
    assert any("tool_calls" in one for one in appended)
    keys = [path.rpartition("/")[2] for method, path, _ in script.calls if method == "PUT" and "/preferences/" in path]
    assert keys == [key for key, _ in sized.data.preferences]


def test_load__a_refusal_names_call_status_and_field(api: TenantApi, sized: SizedTenant, script: Script) -> None:
    script.refuse = ("/turns", 400)
    with api, pytest.raises(CallFailedError, match=r"POST /v1/users/ines/turns was answered 400: turns\.0\.content"):
        api.load(sized.data, sized.budgets)


def test_await_warm__polls_until_warm(api: TenantApi, script: Script) -> None:
    with api:
        view, took_ms = api.await_warm("demo", timeout_s=5, is_idle=lambda: False)
    assert (view.state, view.warmed_tokens) == ("warm", 500)
    assert took_ms > 100
    assert len(script.calls) == 2


def test_await_warm__ends_when_nothing_will_change(api: TenantApi, script: Script) -> None:
    script.states = ["warming"]
    with api, pytest.raises(WarmUpError, match="session demo of t1-one is warming instead of warm"):
        api.await_warm("demo", timeout_s=60, is_idle=lambda: True)


def test_await_warm__ends_when_the_warm_up_failed(api: TenantApi, script: Script) -> None:
    script.states = ["failed"]
    with api, pytest.raises(WarmUpError, match="failed"):
        api.await_warm("demo", timeout_s=60, is_idle=lambda: False)


def test_ask__sends_only_what_is_new(api: TenantApi, sized: SizedTenant, script: Script) -> None:
    with api:
        answer = api.ask(sized.data, "demo", question="Where to?", max_tokens=4)
    (asked,) = script.bodies("POST", "/chat/completions")
    assert asked["messages"] == [{"role": "user", "content": "Where to?"}]
    assert (asked["max_tokens"], asked["temperature"], asked["stream"]) == (4, 0, True)
    assert answer.text == "Yes."
    assert answer.ttft_ms > answer.block.ttft_ms


def test_ask__an_answer_of_an_error_is_a_failed_call(api: TenantApi, sized: SizedTenant, script: Script) -> None:
    script.refuse = ("/chat/completions", 503)
    with api, pytest.raises(CallFailedError, match="was answered 503"):
        api.ask(sized.data, "demo", question="Where to?", max_tokens=4)


def test_ask__no_gateway_is_a_failed_call(sized: SizedTenant) -> None:
    with (
        TenantApi("http://127.0.0.1:1", tenant="t", user="u", token=lambda *_, **__: "x") as api,
        pytest.raises(CallFailedError, match="ConnectError"),
    ):
        api.set_preference("seat", "aisle")


def test_batches__hold_as_many_turns_as_the_api_takes() -> None:
    sizes = [len(batch) for batch in batches(tuple(turn(number) for number in range(95)))]
    assert sizes == [40, 40, 15]


def test_batches__large_turns_go_alone() -> None:
    turns = tuple(turn(number, "x" * 200_000) for number in range(3))
    assert [batch[0] for batch in batches(turns)] == list(turns)
