"""What the contract suite cannot see of preferences in DynamoDB: which rows are written, and reads amid a commit."""

import json
import zlib
from collections.abc import Mapping
from typing import cast

import pytest

from preheat.errors import SourceUnavailableError
from preheat.preference_set import PreferenceSet, with_preference
from preheat.preferences import NewPreference
from preheat.rows import preference_document
from preheat.session import TenantId, UserId
from preheat.stamp import UserState
from tests.scripted_dynamodb import NOTHING, Answer, ScriptedClient, records_on, rows

TENANT, USER = TenantId("acme"), UserId("ada")
AISLE = with_preference(PreferenceSet(), NewPreference("seat", "aisle"), version=1, now=1.5)


def state(pref_ver: int, **more: object) -> dict[str, object]:
    counters = {"forget_ver": {"N": "0"}, "pref_ver": {"N": str(pref_ver)}, "hist_seq": {"N": "7"}}
    return {
        "pk": {"S": "T#acme#U#ada"},
        "sk": {"S": "STATE"},
        **counters,
        "preferences_ver": {"N": str(pref_ver)},
        **more,
    }


def stored(kept: PreferenceSet, *, version: int, revision: int = 4) -> dict[str, object]:
    return {
        "pk": {"S": "T#acme#U#ada"},
        "sk": {"S": "PREFERENCES"},
        "body": {"B": preference_document(kept)},
        "preferences_ver": {"N": str(version)},
        "revision": {"N": str(revision)},
    }


def written(client: ScriptedClient, call: int) -> list[Mapping[str, Mapping[str, object]]]:
    name, arguments = client.calls[call]
    assert name == "transact_write_items"
    return cast("list[Mapping[str, Mapping[str, object]]]", arguments["TransactItems"])


def test_set_preference__is_one_transaction_of_the_counters_and_the_whole_set() -> None:
    client = ScriptedClient(rows(state(1), stored(AISLE, version=1)), {})

    after = records_on(client).set_preference(TENANT, USER, key="seat", value="window", now=2.0)

    assert after == UserState(pref_ver=2, hist_seq=7)
    assert client.named() == ["batch_get_item", "transact_write_items"]
    counters, row = written(client, 1)
    moved = cast("Mapping[str, object]", counters["Update"]["ExpressionAttributeValues"])
    assert (moved[":pref_ver"], moved[":preferences_ver"]) == ({"N": "2"}, {"N": "2"})
    item = cast("Mapping[str, Mapping[str, object]]", row["Put"]["Item"])
    assert (item["preferences_ver"], item["revision"]) == ({"N": "2"}, {"N": "5"})
    assert row["Put"]["ConditionExpression"] == "revision = :revision"
    assert row["Put"]["ExpressionAttributeValues"] == {":revision": {"N": "4"}}


def test_set_preference__the_first_row_is_there_before_its_counter_moves() -> None:
    client = ScriptedClient(NOTHING, {})

    records_on(client).set_preference(TENANT, USER, key="seat", value="aisle", now=2.0)

    assert client.named() == ["batch_get_item", "transact_write_items", "transact_write_items"]
    assert [next(iter(one)) for one in written(client, 1)] == ["ConditionCheck", "Put"]
    assert [next(iter(one)) for one in written(client, 2)] == ["Update", "Put"]


def test_observe_preference__writes_one_row_and_no_counter() -> None:
    client = ScriptedClient(rows(state(1), stored(AISLE, version=1)), {}, rows(state(1)))

    records_on(client).observe_preference(TENANT, USER, key="seat", value="window")

    assert client.named() == ["batch_get_item", "put_item", "batch_get_item"]


def test_delete_preference__what_is_left_in_the_row_tells_nothing_of_it() -> None:
    kept = with_preference(AISLE, NewPreference("ex_name", "Kim"), version=2, now=1.5)
    client = ScriptedClient(rows(state(2), stored(kept, version=2)), {})

    records_on(client).delete_preference(TENANT, USER, key="ex_name", now=2.0)

    item = cast("Mapping[str, Mapping[str, bytes]]", written(client, 1)[1]["Put"]["Item"])
    body = zlib.decompress(item["body"]["B"]).decode()
    assert [entry["preference"]["key"] for entry in json.loads(body)["entries"]] == ["seat"]
    assert "ex_name" not in body
    assert "Kim" not in body


def test_list_preferences__is_one_consistent_read_of_counters_and_set() -> None:
    client = ScriptedClient(rows(state(1), stored(AISLE, version=1)))

    assert records_on(client).list_preferences(TENANT, USER) == AISLE.preferences
    ((name, arguments),) = client.calls
    assert name == "batch_get_item"
    (asked,) = cast("dict[str, dict[str, object]]", arguments["RequestItems"]).values()
    assert asked["ConsistentRead"] is True


def test_list_preferences__a_set_that_is_behind_its_counter_is_read_again() -> None:
    window = with_preference(AISLE, NewPreference("seat", "window"), version=2, now=2.0)
    client = ScriptedClient(
        rows(state(2), stored(AISLE, version=1)),
        rows(stored(AISLE, version=1), state(2)),
        rows(state(2), stored(window, version=2)),
    )
    waits: list[float] = []

    assert records_on(client, waits=waits).list_preferences(TENANT, USER) == window.preferences
    assert len(waits) == 2


def test_list_preferences__a_set_that_stays_behind_its_counter_is_an_outage() -> None:
    client = ScriptedClient(rows(state(2), stored(AISLE, version=1)))

    with pytest.raises(SourceUnavailableError):
        records_on(client).list_preferences(TENANT, USER)


@pytest.mark.parametrize(
    "answer",
    [rows(state(3)), rows(state(3), stored(AISLE, version=3)), rows({**state(9), "preferences_ver": {"N": "3"}})],
    ids=["erased", "of this version", "counter moved by others"],
)
def test_list_preferences__a_set_at_or_beyond_its_counter_is_told(answer: Answer) -> None:
    client = ScriptedClient(answer)

    assert records_on(client).list_preferences(TENANT, USER) in {(), AISLE.preferences}
    assert len(client.calls) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"body": {"S": "text"}},
        {"body": {"B": b"not compressed"}},
        {"body": {"B": zlib.compress(b"{")}},
        {"body": {"B": zlib.compress(b'{"entries":[{"preference":{}}],"tombstones":[]}')}},
        {"revision": {"S": "x"}},
    ],
    ids=["text", "not compressed", "no JSON", "no preference", "no revision"],
)
def test_list_preferences__a_row_of_another_schema_is_an_outage(changed: Mapping[str, object]) -> None:
    with pytest.raises(SourceUnavailableError):
        records_on(ScriptedClient(rows({**stored(AISLE, version=1), **changed}))).list_preferences(TENANT, USER)


def test_list_preferences__row_that_an_earlier_build_has_written_is_read() -> None:
    least = {"key": "seat", "value": "aisle", "version": 1, "updated_at": 1.5}
    body = zlib.compress(json.dumps({"entries": [{"preference": least, "seen": {}}]}).encode())
    row = {**stored(PreferenceSet(), version=1), "body": {"B": body}}

    assert records_on(ScriptedClient(rows(row))).list_preferences(TENANT, USER) == AISLE.preferences
