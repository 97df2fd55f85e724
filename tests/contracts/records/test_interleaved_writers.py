"""Two writers on the table, the second let in at every single step of the first.

Whatever the step, both must return what they would have returned one after the other, and leave what they would have
left; the fake in memory, which does one thing at a time, says what that is. A read of several rows is taken apart into
one step a row, in both orders: the service promises no common moment for them.
"""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import pytest

from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.adapters.memory_records import MemoryRecords
from preheat.agent import Profile
from preheat.budget import Budgets
from preheat.errors import NotFoundError, SessionTakenError
from preheat.ports import NewTurn, Records
from preheat.preference_set import Mark
from preheat.preferences import NewPreference, PreferenceValue
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId
from preheat.stamp import Frozen, Stamp
from tests.contracts.records.table import new_table

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
        wanted = list(asked["Keys"])[:: -1 if self._backwards else 1]
        items = []
        for key in wanted:
            self._before()
            response = self._client.batch_get_item(
                RequestItems={table: {"Keys": [key], "ConsistentRead": asked["ConsistentRead"]}}
            )
            items += response["Responses"][table]
        return {"Responses": {table: items}, "UnprocessedKeys": {}}


def setting(value: PreferenceValue) -> Act:
    return lambda records: records.set_preference(TENANT, USER, key="units", value=value, now=NOW)


def deleting(records: Records) -> object:
    return records.delete_preference(TENANT, USER, key="units", now=NOW)


def replacing(**values: PreferenceValue) -> Act:
    wanted = [NewPreference(key, value) for key, value in values.items()]
    return lambda records: records.replace_preferences(TENANT, USER, wanted=wanted, now=NOW)


def told_elsewhere(value: PreferenceValue, version: int) -> Act:
    mark = Mark(version)
    return lambda records: records.set_preference(TENANT, USER, key="units", value=value, now=NOW, mark=mark)


def observing(value: PreferenceValue) -> Act:
    def act(records: Records) -> object:
        try:
            return repr(records.observe_preference(TENANT, USER, key="units", value=value))
        except NotFoundError:
            return "not found"

    return act


def appending(*turn_ids: str) -> Act:
    turns = [NewTurn(turn_id, SESSION, "user", f"says {turn_id}") for turn_id in turn_ids]
    return lambda records: records.append_turns(TENANT, USER, turns=turns)


def registering(instructions: str) -> Act:
    return lambda records: records.put_agent(TENANT, SUPPORT.agent, profile=Profile(instructions), catalog=())


def starting(scope: Scope, *, now: float, life_s: float) -> Act:
    def act(records: Records) -> object:
        try:
            return records.create_session(scope, warm=True, now=now, expires_at=now + life_s)
        except SessionTakenError:
            return "taken"

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
        "set_1": setting(1),
        "set_1.0": setting(1.0),
        "delete": deleting,
        "replace": replacing(units=2, tone="brief"),
        "replace_all": replacing(tone="curt"),
        "elsewhere_v1": told_elsewhere(3, 1),
        "elsewhere_v2": told_elsewhere(4, 2),
        "observe": observing(5),
        "append_a_b": appending("a", "b"),
        "append_b_c": appending("b", "c"),
    },
    "agent": {"brief": registering("Be brief."), "kind": registering("Be kind.")},
    "session": {
        "support": starting(SUPPORT, now=NOW, life_s=9.0),
        "sales": starting(SALES, now=NOW, life_s=9.0),
        "sales_later": starting(SALES, now=NOW + 1.0, life_s=9.0),
    },
    "frozen": {"first": freezing(0, 1), "other_first": freezing(0, 2), "second": freezing(1, 3)},
}
# What was there before both writers.
EARLIER: dict[str, tuple[Act, ...]] = {
    "user": (setting(1), appending("b")),
    "agent": (registering("Be brief."),),
    "session": (starting(SUPPORT, now=NOW - 9.0, life_s=9.5),),
    "frozen": (freezing(0, 4),),
}
# These take the same steps as another of their group.
ONLY_LET_IN = {"set_1.0", "replace_all", "elsewhere_v2", "append_b_c", "kind", "sales", "other_first"}
CASES = [
    pytest.param(first, second, earlier, id=f"{first_name}-{second_name}-{'later' if earlier else 'new'}")
    for group, acts in GROUPS.items()
    for first_name, first in acts.items()
    if first_name not in ONLY_LET_IN
    for second_name, second in acts.items()
    for earlier in ((), EARLIER[group])
]


def left_behind(records: Records) -> object:
    agent = records.read_agent_state(TENANT, SUPPORT.agent)
    return (
        records.read_versions(SUPPORT),
        [repr(preference) for preference in records.list_preferences(TENANT, USER)],
        records.turns_from(TENANT, USER, first_seq=1),
        agent and records.load_agent(TENANT, SUPPORT.agent, state=agent),
        records.read_frozen(SUPPORT),
    )


def in_turn(earlier: tuple[Act, ...], one: Act, other: Act) -> tuple[object, object, object, bool]:
    """Return what both return, what they leave, and whether the one changed nothing."""
    records = MemoryRecords()
    for act in earlier:
        act(records)
    before = left_behind(records)
    returned = one(records)
    changed_nothing = left_behind(records) == before
    return returned, other(records), left_behind(records), changed_nothing


@pytest.mark.parametrize(("outer", "inner", "earlier"), CASES)
def test_writers__interleaved_at_any_step_are_as_one_after_the_other(
    emulator: "DynamoDBClient", outer: Act, inner: Act, earlier: tuple[Act, ...]
) -> None:
    returned_outer, returned_inner, left, changed_nothing = in_turn(earlier, outer, inner)
    possible = [(returned_outer, returned_inner, left)]
    if changed_nothing:
        # Who has nothing to write may be told the later counters.
        possible.append((returned_inner, returned_inner, left))
    returned_inner, returned_outer, left, _ = in_turn(earlier, inner, outer)
    possible.append((returned_outer, returned_inner, left))

    for backwards in (False, True):
        for step in count():
            outcome = let_in(emulator, earlier, outer, inner, step=step, backwards=backwards)
            if outcome is None:
                break
            assert outcome in possible, f"let in before step {step}, reads backwards: {backwards}"
    assert step >= 1


def let_in(
    emulator: "DynamoDBClient", earlier: tuple[Act, ...], outer: Act, inner: Act, *, step: int, backwards: bool
) -> tuple[object, object, object] | None:
    """Run `inner` whole before the given step of `outer`; None when `outer` takes fewer steps."""
    table = new_table(emulator)
    plain = DynamoDBRecords(emulator, table=table)
    for act in earlier:
        act(plain)
    numbers = count()
    returned: list[object] = []

    def before_step() -> None:
        if next(numbers) == step:
            returned.append(inner(plain))

    watched = cast("DynamoDBClient", Watched(emulator, before_step, backwards=backwards))
    outcome = outer(DynamoDBRecords(watched, table=table, sleep=lambda _: None))
    return (outcome, returned[0], left_behind(plain)) if returned else None
