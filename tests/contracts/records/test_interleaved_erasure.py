"""An erasure on the table, with somebody else let in at every single step of it, and it at every step of theirs.

Whatever the step: nothing of before is left, what others were told is written is there or was erased, and nobody holds
something of before together with counters that are still the user's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, count
from typing import TYPE_CHECKING, Final, cast

import pytest

from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.errors import ConflictError, UserErasedError
from preheat.ports import Records
from preheat.preferences import Preference
from preheat.session import SessionId
from preheat.stamp import Frozen, UserState
from tests.contracts.records.samples import LATER, NOW, SCOPE, TENANT, USER, frozen, said
from tests.contracts.records.table import new_table
from tests.contracts.records.test_interleaved_writers import Watched

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

OLD: Final = "something of before"
NEW: Final = "something of meanwhile"


@dataclass
class Other:
    """Somebody at work on the user, who began before the erasure.

    Attributes:
        began: The counters then.
        held: What a builder has read, and the counters that it had read before.
        made: What it made of that.
    """

    began: UserState
    held: tuple[UserState, str] = (UserState(), "")
    made: Frozen = field(default_factory=frozen)

    def read(self, records: Records) -> None:
        """Read counters and then rows, as a builder does."""
        state = records.read_versions(SCOPE).user
        current = records.list_preferences(TENANT, USER)
        turns = records.newest_turns(TENANT, USER, limit=9)
        self.held = (state, repr((current, turns)))
        stamp = replace(frozen().stamp, forget_ver=state.forget_ver, pref_ver=state.pref_ver)
        self.made = replace(frozen(3, preferences=current), stamp=stamp)

    def freeze(self, records: Records) -> None:
        """Freeze the session as it was read."""
        try:
            records.put_frozen(SCOPE, self.made, expires_at=LATER)
        except ConflictError:
            return

    def build(self, records: Records) -> None:
        """Read and freeze."""
        self.read(records)
        self.freeze(records)

    def look(self, records: Records) -> None:
        """Begin an answer, unless the session is gone."""
        versions = records.read_versions(SCOPE)
        if versions.session is not None:
            self.began = versions.user

    def save_an_answer(self, records: Records) -> None:
        """Save turns of an answer that was built on what was there before."""
        try:
            records.append_turns(TENANT, USER, turns=[said("answer", OLD)], erase_ver=self.began.erase_ver)
        except UserErasedError:
            return

    def start_late(self, records: Records) -> None:
        """Record a session for an event that was sent before."""
        try:
            records.create_session(
                replace(SCOPE, session=SessionId("late")), warm=True, now=NOW, expires_at=LATER, asked_at=NOW - 1
            )
        except UserErasedError:
            return

    def append(self, records: Records) -> None:
        """Append a turn that the erasure may come before or after."""
        records.append_turns(TENANT, USER, turns=[said("meanwhile", NEW)])

    def set_another(self, records: Records) -> None:
        """Set a preference that the erasure may come before or after."""
        records.set_preference(TENANT, USER, key="tone", value=NEW, now=NOW)

    def set_the_same(self, records: Records) -> None:
        """Set the preference that was there before to something else."""
        records.set_preference(TENANT, USER, key="units", value=NEW, now=NOW)

    def erase(self, records: Records) -> None:
        """Erase the user as well."""
        erase(records)


ACTS: Final[dict[str, Callable[[Other, Records], None]]] = {
    "build": Other.build,
    "save an answer": Other.save_an_answer,
    "start late": Other.start_late,
    "append": Other.append,
    "set another": Other.set_another,
    "set the same": Other.set_the_same,
    "erase": Other.erase,
}


def erase(records: Records) -> None:
    erased = records.erase_user(TENANT, USER, now=NOW, settle_s=0.0, kept_until=LATER)
    assert erased.complete


def with_a_past(records: Records) -> Other:
    records.create_session(SCOPE, warm=True, now=NOW - 9, expires_at=LATER)
    records.set_preference(TENANT, USER, key="units", value=OLD, now=NOW - 9)
    records.append_turns(TENANT, USER, turns=[said("t-1", OLD), said("t-2", OLD)])
    records.put_frozen(SCOPE, frozen(preferences=(Preference("units", OLD, 1, NOW - 9),)), expires_at=LATER)
    return Other(records.read_user_state(TENANT, USER))


def assert_gone(client: "DynamoDBClient", table: str, other: Other) -> None:
    records = DynamoDBRecords(client, table=table)
    state = records.read_user_state(TENANT, USER)
    current = records.list_preferences(TENANT, USER)
    turns = records.turns_from(TENANT, USER, first_seq=0)
    kept = records.read_frozen(SCOPE)
    assert OLD not in repr((current, turns, kept))
    assert records.list_sessions(TENANT, USER, now=NOW) == ()
    assert {(one.key, one.value) for one in current} <= {("tone", NEW), ("units", NEW)}
    # A row goes with its id, and the counters never go back.
    ids = [row for row in sort_keys(client, table) if row.startswith("TURNID#")]
    assert [f"TURNID#{turn.turn_id}" for turn in turns] == ids
    assert all(turn.seq <= state.hist_seq for turn in turns)
    assert state.hist_seq >= other.began.hist_seq
    assert state.pref_ver >= other.began.pref_ver
    assert state.erase_ver > 0
    held_at, held = other.held
    assert OLD not in held or held_at != state
    # Who is back can be written to, at once.
    records.append_turns(TENANT, USER, turns=[said("t-1", "back")])
    records.set_preference(TENANT, USER, key="units", value="back", now=NOW)
    assert records.newest_turns(TENANT, USER, limit=1)[0].content == "back"


def sort_keys(client: "DynamoDBClient", table: str) -> list[str]:
    return sorted(item["sk"]["S"] for item in client.scan(TableName=table)["Items"])


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("backwards", [False, True])
def test_erasure__lets_somebody_in_at_any_step(
    emulator: "DynamoDBClient", act: Callable[[Other, Records], None], *, backwards: bool
) -> None:
    steps = each_step(emulator, lambda _, records: erase(records), act, backwards=backwards)

    assert steps >= 5


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("backwards", [False, True])
def test_erasure__comes_in_at_any_step_of_somebody_else(
    emulator: "DynamoDBClient", act: Callable[[Other, Records], None], *, backwards: bool
) -> None:
    steps = each_step(emulator, act, lambda _, records: erase(records), backwards=backwards)

    assert steps >= 2


@pytest.mark.parametrize(
    ("first", "second"),
    [(Other.read, Other.freeze), (Other.look, Other.save_an_answer)],
    ids=["read and freeze", "look and save"],
)
def test_erasure__lets_somebody_begin_at_any_step_and_end_at_any_later_one(
    emulator: "DynamoDBClient", first: Callable[[Other, Records], None], second: Callable[[Other, Records], None]
) -> None:
    steps = each_step(emulator, lambda _, records: erase(records), first, backwards=False)

    for begins, ends in combinations(range(steps), 2):
        let_in(emulator, lambda _, records: erase(records), {begins: first, ends: second})


def each_step(
    emulator: "DynamoDBClient",
    outer: Callable[[Other, Records], None],
    inner: Callable[[Other, Records], None],
    *,
    backwards: bool,
) -> int:
    """Run `inner` whole before each step of `outer` in turn; return how many there are."""
    return next(step for step in count() if not let_in(emulator, outer, {step: inner}, backwards=backwards))


def let_in(
    emulator: "DynamoDBClient",
    outer: Callable[[Other, Records], None],
    inner: Mapping[int, Callable[[Other, Records], None]],
    *,
    backwards: bool = False,
) -> bool:
    """Run each of `inner` whole before the given step of `outer`; tell whether `outer` takes as many steps."""
    table = new_table(emulator)
    plain = DynamoDBRecords(emulator, table=table)
    other = with_a_past(plain)
    numbers = count()
    came: list[int] = []

    def before_step() -> None:
        number = next(numbers)
        if number in inner:
            came.append(number)
            inner[number](other, plain)

    watched = cast("DynamoDBClient", Watched(emulator, before_step, backwards=backwards))
    outer(other, DynamoDBRecords(watched, table=table, sleep=lambda _: None))
    if came:
        assert_gone(emulator, table, other)
    return len(came) == len(inner)
