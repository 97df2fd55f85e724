"""The calls that reading a part of the log makes."""

import pytest

from preheat.ports import TurnPage
from preheat.session import TenantId, UserId
from tests.scripted_dynamodb import TABLE, ScriptedClient, records_on

TENANT, USER = TenantId("acme"), UserId("ada")


def turn_row(seq: int) -> dict[str, dict[str, str]]:
    fields = {"turn_id": f"t-{seq}", "session": "s-1", "role": "user", "content": "hello"}
    return {"seq": {"N": str(seq)}, **{name: {"S": value} for name, value in fields.items()}}


def test_turn_page__is_one_consistent_query_of_one_row_more_than_asked_for() -> None:
    client = ScriptedClient({"Items": [turn_row(seq) for seq in (8, 9, 10)], "LastEvaluatedKey": {"sk": {"S": "x"}}})

    page = records_on(client).turn_page(TENANT, USER, after=7, limit=2)

    assert [turn.seq for turn in page.turns] == [8, 9]
    assert page.next_after == 9
    ((name, asked),) = client.calls
    assert name == "query"
    assert (asked["TableName"], asked["ConsistentRead"], asked["Limit"]) == (TABLE, True, 3)
    assert asked["ExpressionAttributeValues"] == {
        ":pk": {"S": "T#acme#U#ada"},
        ":first": {"S": "TURN#000000000008"},
        ":end": {"S": "TURN$"},
    }
    assert "ScanIndexForward" not in asked


@pytest.mark.parametrize(("cut", "next_after"), [(True, 1), (False, None)])
def test_turn_page__cut_short_by_the_service_goes_on_after_its_last_turn(cut: bool, next_after: int | None) -> None:  # noqa: FBT001  # a parameter
    more: dict[str, object] = {"LastEvaluatedKey": {"sk": {"S": "TURN#000000000001"}}} if cut else {}
    client = ScriptedClient({"Items": [turn_row(1)], **more})

    page = records_on(client).turn_page(TENANT, USER, after=0, limit=200)

    assert page == TurnPage(page.turns, next_after)
    assert len(client.calls) == 1
