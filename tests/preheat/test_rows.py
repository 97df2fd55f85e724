"""The stored forms and limits that every adapter of the records shares."""

from preheat import rows
from preheat.agent import Profile
from preheat.history import ToolCall
from preheat.ports import NewTurn
from preheat.session import SessionId
from preheat.tools import Tool


def test_catalog_document__is_equal_for_any_order_of_the_tools() -> None:
    one, other = Tool("a/x", "finds", "{}"), Tool("b/y", "sends", "{}")

    assert rows.catalog_document([one, other]) == rows.catalog_document([other, one])


def test_catalog_document__differs_for_another_server_with_the_same_wire_name() -> None:
    one, other = Tool("a/b__c", "finds", "{}"), Tool("a__b/c", "finds", "{}")

    assert rows.catalog_document([one]) != rows.catalog_document([other])


def test_profile_document__keeps_text_readable() -> None:
    assert '"instructions":"Sé breve 日本"' in rows.profile_document(Profile("Sé breve 日本")).decode()


def test_value_json__tells_equal_numbers_apart() -> None:
    assert [rows.value_json(value) for value in (1, 1.0, True, "1", ("1",))] == ["1", "1.0", "true", '"1"', '["1"]']


def test_checked_turns__the_largest_that_are_taken_fit_one_transaction() -> None:
    turns = [NewTurn(f"t-{n}", SessionId("s"), "user", "x" * rows.MAX_TEXT_BYTES) for n in range(11)]

    assert len(rows.checked_turns(turns)) == 11
    assert 2 * rows.MAX_TURNS + 1 <= 100
    assert rows.MAX_BATCH_BYTES < 4 * 1024 * 1024
    assert rows.MAX_TEXT_BYTES + rows.MAX_CALLS_BYTES < 400 * 1024


def test_calls_json__is_canonical() -> None:
    calls = (ToolCall("c-1", "crm/find", '{"q": "é"}'),)

    assert rows.calls_json(calls) == r'[{"arguments":"{\"q\": \"é\"}","call_id":"c-1","name":"crm/find"}]'
