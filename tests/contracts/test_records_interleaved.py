"""Two writers on the table, the second let in at every single step of the first.

Whatever the step, both must return what they would have returned one after the other, and leave what they would have
left; the fake in memory, which does one thing at a time, says what that is. A read of several rows is taken apart into
one step a row, in both orders: the service promises no common moment for them.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import pytest

from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.adapters.memory_records import MemoryRecords
from preheat.agent import Profile
from preheat.budget import Budgets
from preheat.errors import ConflictError
from preheat.ports import NewTurn, Records
from preheat.preferences import PreferenceValue
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId
from preheat.stamp import Frozen, Stamp
from tests.contracts.records_table import emulated_dynamodb, new_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT = TenantId("acme")
USER = UserId("ada")
SESSION = SessionId("s-1")
SUPPORT = Scope(TENANT, USER, AgentId("support"), SESSION)
SALES = Scope(TENANT, USER, AgentId("sales"), SESSION)
NOW = 1_764_560_000.5

Act = Callable[[Records], object]


class Watched:
    """A client that calls `before` ahead of each step it takes: a call, or one row of a read of several."""

    def __init__(self, client: "DynamoDBClient", before: Callable[[], None], *, backwards: bool) -> None:
        self._client = client
        self._before = before
        self._backwards = backwards

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._client, name)

        def call(**arguments: object) -> object:
            self._before()
            return method(**arguments)

        return call

    def batch_get_item(self, **arguments: Any) -> object:  # noqa: ANN401  # the client's own shape
        ((table, asked),) = arguments["RequestItems"].items()
        items = []
        for key in asked["Keys"][:: -1 if self._backwards else 1]:
            self._before()
            response = self._client.batch_get_item(RequestItems={table: {**asked, "Keys": [key]}})
            items += response["Responses"][table]
        return {"Responses": {table: items}, "UnprocessedKeys": {}}


def setting(value: PreferenceValue) -> Act:
    return lambda records: records.set_preference(TENANT, USER, key="units", value=value, now=NOW)


def deleting(records: Records) -> object:
    return records.delete_preference(TENANT, USER, key="units", now=NOW)


def appending(*turn_ids: str) -> Act:
    turns = [NewTurn(turn_id, SESSION, "user", f"says {turn_id}") for turn_id in turn_ids]
    return lambda records: records.append_turns(TENANT, USER, turns=turns)


def registering(instructions: str) -> Act:
    return lambda records: records.put_agent(TENANT, SUPPORT.agent, profile=Profile(instructions), catalog=())


def starting(scope: Scope, *, now: float, life_s: float) -> Act:
    def act(records: Records) -> object:
        try:
            return records.create_session(scope, warm=True, now=now, expires_at=now + life_s)
        except ConflictError:
            return "conflict"

    return act


def freezing(generation: int, first_seq: int) -> Act:
    frozen = Frozen(
        stamp=Stamp(1, 1, 0, 0, 0, "model", "renderer"),
        generation=generation,
        tools=(),
        tools_why="",
        preferences=(),
        first_seq=first_seq,
        budgets=Budgets(),
    )
    return lambda records: records.put_frozen(SUPPORT, frozen, expires_at=NOW)


GROUPS: dict[str, dict[str, Act]] = {
    "user": {
        "set 1": setting(1),
        "set 1.0": setting(1.0),
        "delete": deleting,
        "append a b": appending("a", "b"),
        "append b c": appending("b", "c"),
    },
    "agent": {"brief": registering("Be brief."), "kind": registering("Be kind.")},
    "session": {
        "support": starting(SUPPORT, now=NOW, life_s=9.0),
        "sales": starting(SALES, now=NOW, life_s=9.0),
        "sales later": starting(SALES, now=NOW + 1.0, life_s=9.0),
    },
    "frozen": {"first": freezing(0, 1), "other first": freezing(0, 2), "second": freezing(1, 3)},
}
# What was there before both writers.
EARLIER: dict[str, dict[str, Act]] = {
    "user": {"preference": setting(1), "turn": appending("b")},
    "agent": {"brief": registering("Be brief.")},
    "session": {"expired": starting(SUPPORT, now=NOW - 9.0, life_s=9.5)},
    "frozen": {"first": freezing(0, 4)},
}
CASES = [
    (group, first, second, earlier)
    for group, acts in GROUPS.items()
    for first in acts
    for second in acts
    for earlier in ("nothing", *EARLIER[group])
]


@pytest.fixture(scope="module")
def dynamodb() -> Iterator["DynamoDBClient"]:
    with emulated_dynamodb() as client:
        yield client


def left_behind(records: Records) -> object:
    agent = records.read_agent_state(TENANT, SUPPORT.agent)
    return (
        records.read_versions(SUPPORT),
        [repr(preference) for preference in records.list_preferences(TENANT, USER)],
        records.turns_from(TENANT, USER, first_seq=1),
        agent and records.load_agent(TENANT, SUPPORT.agent, state=agent),
        records.read_frozen(SUPPORT),
    )


def in_turn(earlier: Act | None, one: Act, other: Act) -> tuple[object, object, object]:
    records = MemoryRecords()
    if earlier:
        earlier(records)
    return one(records), other(records), left_behind(records)


@pytest.mark.parametrize(("group", "first", "second", "earlier"), CASES, ids=lambda part: part.replace(" ", "-"))
def test_writers__interleaved_at_any_step_are_as_one_after_the_other(
    dynamodb: "DynamoDBClient", group: str, first: str, second: str, earlier: str
) -> None:
    outer, inner, before = GROUPS[group][first], GROUPS[group][second], EARLIER[group].get(earlier)
    returned_first, returned_second, left = in_turn(before, outer, inner)
    possible = [(returned_first, returned_second, left)]
    returned_second, returned_first, left = in_turn(before, inner, outer)
    possible.append((returned_first, returned_second, left))

    steps = 0
    for backwards in (False, True):
        for step in count():
            outcome = let_in(dynamodb, before, outer, inner, step=step, backwards=backwards)
            if outcome is None:
                break
            steps += 1
            assert outcome in possible, f"let in before step {step}, reads backwards: {backwards}"
    assert steps >= 2


def let_in(
    dynamodb: "DynamoDBClient", earlier: Act | None, outer: Act, inner: Act, *, step: int, backwards: bool
) -> tuple[object, object, object] | None:
    """Run `inner` whole before the given step of `outer`; None when `outer` takes fewer steps."""
    table = new_table(dynamodb)
    plain = DynamoDBRecords(dynamodb, table=table)
    if earlier:
        earlier(plain)
    numbers = count()
    returned: list[object] = []

    def before_step() -> None:
        if next(numbers) == step:
            returned.append(inner(plain))

    watched = cast("DynamoDBClient", Watched(dynamodb, before_step, backwards=backwards))
    outcome = outer(DynamoDBRecords(watched, table=table, sleep=lambda _: None))
    return (outcome, returned[0], left_behind(plain)) if returned else None
