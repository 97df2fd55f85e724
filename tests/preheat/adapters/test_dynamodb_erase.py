"""Erasing on the table: the calls that are made, what the service may leave undone, what becomes of the counters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from botocore.exceptions import ReadTimeoutError

from preheat.adapters.dynamodb_erase import UserRows
from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.adapters.dynamodb_table import Table
from preheat.errors import ConflictError, SourceUnavailableError
from preheat.ports import Erased
from preheat.stamp import Frozen
from tests.contracts.records.samples import LATER, NOW, SCOPE, TENANT, USER, frozen, said
from tests.contracts.records.table import emulated_dynamodb, new_table
from tests.scripted_dynamodb import TABLE, Answer, ScriptedClient, records_on, refusal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_UNTIL: Final = NOW + 30 * 86_400
PARTITION: Final = "T#acme#U#ada"
MOVED: Final = {"Attributes": {"forget_ver": {"N": "3"}, "erase_ver": {"N": "1"}, "erased_at": {"N": "9.5"}}}
DONE: Final[Mapping[str, object]] = {"UnprocessedItems": {}}


@pytest.fixture(scope="module")
def emulator() -> Iterator["DynamoDBClient"]:
    with emulated_dynamodb() as client:
        yield client


def listed(*sort_keys: str, more: bool = False) -> Answer:
    items = [{"sk": {"S": sort_key}} for sort_key in sort_keys]
    return {"Items": items, **({"LastEvaluatedKey": {"sk": {"S": sort_keys[-1]}}} if more else {})}


def left(*sort_keys: str) -> Answer:
    return {"UnprocessedItems": {TABLE: [_deletion(sort_key) for sort_key in sort_keys]}}


def _deletion(sort_key: str) -> dict[str, object]:
    return {"DeleteRequest": {"Key": {"pk": {"S": PARTITION}, "sk": {"S": sort_key}}}}


def erase(records: DynamoDBRecords, *, settle_s: float = 0.25) -> Erased:
    return records.erase_user(TENANT, USER, now=NOW, settle_s=settle_s, kept_until=KEPT_UNTIL)


def removed(client: ScriptedClient) -> list[list[str]]:
    """Return the sort keys of each call that removes."""
    return [
        [one["DeleteRequest"]["Key"]["sk"]["S"] for one in cast("Any", asked)["RequestItems"][TABLE]]
        for name, asked in client.calls
        if name == "batch_write_item"
    ]


def test_erase_user__moves_lists_removes_and_looks_again_after_a_while() -> None:
    client = ScriptedClient(MOVED, listed("SESSION#s", "STATE", "TURN#1"), DONE, MOVED, listed("STATE"), {})
    waits: list[float] = []

    erased = erase(records_on(client, waits=waits))

    assert client.named() == ["update_item", "query", "batch_write_item", "update_item", "query", "update_item"]
    assert waits == [0.25]
    assert erased == Erased(("SESSION#s", "TURN#1"), complete=True)
    assert removed(client) == [["SESSION#s", "TURN#1"]]
    assert all(asked["ConsistentRead"] for name, asked in client.calls if name == "query")


def test_erase_user__rows_go_twenty_five_at_a_time_page_by_page() -> None:
    sort_keys = [f"TURN#{n:03d}" for n in range(60)]
    client = ScriptedClient(MOVED, listed(*sort_keys[:40], more=True), listed(*sort_keys[40:]), MOVED, listed(), {})
    removals = _Removals(client)

    erased = erase(records_on(cast("ScriptedClient", removals)))

    assert sorted(len(batch) for batch in removals.batches) == [15, 20, 25]
    assert sorted(chain.from_iterable(removals.batches)) == sort_keys == list(erased.rows)


class _Removals:
    """Takes the removals, which come at once and in any order, out of another client's script."""

    def __init__(self, client: ScriptedClient) -> None:
        self._client = client
        self.batches: list[list[str]] = []

    def __getattr__(self, name: str) -> Callable[..., Mapping[str, object]]:
        call: Callable[..., Mapping[str, object]] = getattr(self._client, name)
        return call

    def batch_write_item(self, **asked: Any) -> Mapping[str, object]:  # noqa: ANN401  # the client's own shape
        self.batches.append([one["DeleteRequest"]["Key"]["sk"]["S"] for one in asked["RequestItems"][TABLE]])
        return DONE


@pytest.mark.parametrize(
    "trouble",
    [
        left("TURN#2"),
        refusal("ProvisionedThroughputExceededException"),
        refusal("ThrottlingException"),
        refusal("TransactionConflictException"),
    ],
    ids=["left unprocessed", "throughput", "throttled", "a transaction in the way"],
)
def test_erase_user__what_the_service_leaves_is_asked_for_again_after_a_wait(trouble: Answer) -> None:
    client = ScriptedClient(MOVED, listed("TURN#1", "TURN#2"), trouble, trouble, DONE, MOVED, listed(), {})
    waits: list[float] = []

    erased = erase(records_on(client, waits=waits))

    assert erased == Erased(("TURN#1", "TURN#2"), complete=True)
    assert removed(client)[-1][-1] == "TURN#2"
    assert len(removed(client)) == 3
    assert len(waits) == 3
    assert all(0 <= wait <= 0.4 for wait in waits)


@pytest.mark.parametrize("trouble", [left("TURN#1"), refusal("ThrottlingException")], ids=["left", "throttled"])
def test_erase_user__what_is_left_again_and_again_is_left_to_the_next_call(trouble: Answer) -> None:
    client = ScriptedClient(MOVED, listed("TURN#1"), *[trouble] * 8)

    erased = erase(records_on(client))

    assert erased == Erased((), complete=False)
    assert len(removed(client)) == 8


def test_erase_user__one_batch_that_fails_stops_those_behind_it() -> None:
    client = ScriptedClient(MOVED, listed(*(f"TURN#{n:05d}" for n in range(5000))), refusal("ThrottlingException"))

    erased = erase(records_on(client))

    assert not erased.complete
    assert len(removed(client)) <= 8 * 8 * 2  # of 200 batches, those under way


def test_erase_user__past_its_time_the_rest_is_left_to_the_next_call() -> None:
    seconds = count(step=3)
    client = ScriptedClient(MOVED, listed(*(f"TURN#{n:03d}" for n in range(250))), DONE)
    table = Table(cast("DynamoDBClient", client), name=TABLE)
    rows = UserRows(table, sleep=lambda _: None, clock=lambda: float(next(seconds)))

    erased = rows.erase(TENANT, USER, now=NOW, settle_s=0.0, kept_until=KEPT_UNTIL)

    assert not erased.complete
    assert len(erased.rows) == 75


def test_erase_user__counters_that_are_being_written_are_moved_after_that() -> None:
    client = ScriptedClient(refusal("TransactionConflictException"), MOVED, listed(), MOVED, listed(), {})

    assert erase(records_on(client)).complete
    assert client.named()[:2] == ["update_item", "update_item"]


def test_erase_user__somebody_who_writes_without_end_is_a_conflict() -> None:
    script = [MOVED, listed("SESSION#s"), DONE]
    client = ScriptedClient(*script * 20)

    with pytest.raises(ConflictError) as caught:
        erase(records_on(client))

    assert caught.value.retryable
    assert client.named().count("query") == 10


@pytest.mark.parametrize("calls_before", range(3))
def test_erase_user__records_out_of_reach_are_an_outage(calls_before: int) -> None:
    answers: Sequence[Answer] = (MOVED, listed(), MOVED)
    client = ScriptedClient(*answers[:calls_before], ReadTimeoutError(endpoint_url="https://dynamodb"))

    with pytest.raises(SourceUnavailableError):
        erase(records_on(client))


# --- on a table -------------------------------------------------------------------------------------------------------
def fill(records: DynamoDBRecords) -> None:
    records.create_session(SCOPE, warm=True, now=NOW - 9, expires_at=LATER)
    records.put_frozen(SCOPE, frozen(), expires_at=LATER)
    records.set_preference(TENANT, USER, key="units", value="metric", now=NOW - 9)
    records.append_turns(TENANT, USER, turns=[said(f"t-{n}") for n in range(40)])


def state_row(client: "DynamoDBClient", table: str) -> Mapping[str, Any]:
    return client.get_item(TableName=table, Key={"pk": {"S": PARTITION}, "sk": {"S": "STATE"}})["Item"]


def all_rows(client: "DynamoDBClient", table: str) -> set[str]:
    return {item["sk"]["S"] for item in client.scan(TableName=table)["Items"]}


def test_erase_user__leaves_counters_that_expire_and_nothing_else(emulator: "DynamoDBClient") -> None:
    table = new_table(emulator)
    records = DynamoDBRecords(emulator, table=table)
    fill(records)

    erase(records, settle_s=0.0)

    assert all_rows(emulator, table) == {"STATE"}
    row = state_row(emulator, table)
    assert row["expires_at"] == {"N": "1767152001"}
    assert row.keys() == {
        "pk",
        "sk",
        "forget_ver",
        "pref_ver",
        "hist_seq",
        "erase_ver",
        "erased_at",
        "preferences_ver",
        "expires_at",
    }
    assert {kind for attribute in list(row.values())[2:] for kind in attribute} <= {"N", "S"}


BACK: Final[dict[str, Callable[[DynamoDBRecords], object]]] = {
    "append": lambda records: records.append_turns(TENANT, USER, turns=[said("t-1")]),
    "set": lambda records: records.set_preference(TENANT, USER, key="units", value="metric", now=LATER),
    "freeze": lambda records: records.put_frozen(SCOPE, _frozen_now(records), expires_at=LATER),
}


def _frozen_now(records: DynamoDBRecords) -> Frozen:
    state = records.read_user_state(TENANT, USER)
    return replace(frozen(), stamp=replace(frozen().stamp, forget_ver=state.forget_ver))


@pytest.mark.parametrize("write", BACK.values(), ids=BACK)
def test_erased_user__who_is_back_keeps_the_counters_for_good(
    emulator: "DynamoDBClient", write: Callable[[DynamoDBRecords], object]
) -> None:
    table = new_table(emulator)
    records = DynamoDBRecords(emulator, table=table)
    fill(records)
    erase(records, settle_s=0.0)

    write(records)

    assert "expires_at" not in state_row(emulator, table)


def test_erased_user__counters_past_their_life_that_are_still_there_still_count(emulator: "DynamoDBClient") -> None:
    table = new_table(emulator)
    records = DynamoDBRecords(emulator, table=table)
    fill(records)
    records.erase_user(TENANT, USER, now=NOW, settle_s=0.0, kept_until=1.0)

    assert records.read_user_state(TENANT, USER).hist_seq == 40
    assert records.append_turns(TENANT, USER, turns=[said("t-1")]).hist_seq == 41


class _Dying:
    """A client that breaks off for good before the call of the given number."""

    def __init__(self, client: "DynamoDBClient", *, calls: int) -> None:
        self._client = client
        self._left = calls

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._client, name)

        def call(**asked: object) -> object:
            if self._left == 0:
                raise ReadTimeoutError(endpoint_url="https://dynamodb")
            self._left -= 1
            return method(**asked)

        return call


def test_erase_user__after_an_end_in_the_middle_the_next_call_does_the_rest(emulator: "DynamoDBClient") -> None:
    for calls in count():
        table = new_table(emulator)
        records = DynamoDBRecords(emulator, table=table)
        fill(records)
        before = records.read_user_state(TENANT, USER)
        dying = cast("DynamoDBClient", _Dying(emulator, calls=calls))
        try:
            ended = erase(DynamoDBRecords(dying, table=table, sleep=lambda _: None), settle_s=0.0).complete
        except SourceUnavailableError:
            ended = False
        # Whatever was kept before cannot be served once a call was begun that moved the counters.
        assert (records.read_user_state(TENANT, USER).forget_ver > before.forget_ver) is (calls > 0)
        if ended:
            break
        assert erase(records, settle_s=0.0).complete
        assert all_rows(emulator, table) == {"STATE"}
    assert calls >= 6
