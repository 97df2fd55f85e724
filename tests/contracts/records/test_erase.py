"""The contract of `preheat.ports.Records`: a user is erased, and what the counters must do then."""

from collections import Counter
from dataclasses import replace

import pytest

from preheat import keys
from preheat.errors import ConflictError, UserErasedError
from preheat.ports import Records
from preheat.session import AgentId, Scope, SessionId, UserId
from preheat.stamp import UserState
from tests.contracts.records.samples import (
    AGENT,
    LATER,
    NOW,
    PROFILE,
    SCOPE,
    TENANT,
    TOOLS,
    USER,
    at_once,
    frozen,
    said,
)

FAR = NOW + 30 * 86_400


def fill(records: Records, user: UserId = USER, *, turns: int = 70) -> UserState:
    """Write something of every kind."""
    for session in ("s-1", "s-2"):
        scope = Scope(TENANT, user, AGENT, SessionId(session))
        records.create_session(scope, warm=True, now=NOW, expires_at=LATER)
        records.put_frozen(scope, frozen(), expires_at=LATER)
    records.set_preference(TENANT, user, key="units", value="metric", now=NOW)
    records.set_preference(TENANT, user, key="tone", value="dry", now=NOW)
    records.delete_preference(TENANT, user, key="tone", now=NOW)
    for start in range(0, turns, 35):
        records.append_turns(TENANT, user, turns=[said(f"t-{n}") for n in range(start, min(turns, start + 35))])
    return records.read_user_state(TENANT, user)


def erase(records: Records, user: UserId = USER, *, now: float = NOW) -> tuple[str, ...]:
    erased = records.erase_user(TENANT, user, now=now, settle_s=0.0, kept_until=now + 30 * 86_400)
    assert erased.complete
    return erased.rows


def assert_nothing_is_shown(records: Records, scope: Scope = SCOPE) -> None:
    assert records.list_preferences(scope.tenant, scope.user) == ()
    assert records.newest_turns(scope.tenant, scope.user, limit=100) == ()
    assert records.turns_from(scope.tenant, scope.user, first_seq=0) == ()
    assert records.list_sessions(scope.tenant, scope.user, now=NOW) == ()
    assert records.read_versions(scope).session is None
    assert records.read_frozen(scope) is None


def test_erase_user__nothing_is_shown_by_any_read_and_the_rows_are_told(records: Records) -> None:
    fill(records)

    rows = erase(records)

    assert_nothing_is_shown(records)
    assert rows == tuple(sorted(rows))
    assert Counter(map(keys.row_kind, rows)) == {
        "turns": 70,
        "turn_ids": 70,
        "sessions": 2,
        "frozen": 2,
        "preferences": 1,
    }


def test_erase_user__the_counters_only_grow(records: Records) -> None:
    before = fill(records)

    erase(records)

    after = records.read_user_state(TENANT, USER)
    assert after.forget_ver > before.forget_ver
    assert after.erase_ver > before.erase_ver
    assert after.erased_at == NOW
    assert (after.pref_ver, after.hist_seq) == (before.pref_ver, before.hist_seq)
    assert records.read_versions(SCOPE).user == after


def test_erase_user__others_keep_all_they_have(records: Records) -> None:
    records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)
    others = [UserId(name) for name in ("ada2", "ad", "Ada", "bob")]
    for user in (USER, *others):
        fill(records, user, turns=3)
    before = [records.read_versions(replace(SCOPE, user=user)) for user in others]

    erase(records)

    assert [records.read_versions(replace(SCOPE, user=user)) for user in others] == before
    for user in others:
        assert len(records.list_preferences(TENANT, user)) == 1
        assert len(records.turns_from(TENANT, user, first_seq=1)) == 3
        assert records.read_frozen(replace(SCOPE, user=user)) == frozen()


def test_erase_user__twice_finds_nothing_and_still_moves_on(records: Records) -> None:
    fill(records, turns=1)
    erase(records)
    first = records.read_user_state(TENANT, USER)

    assert erase(records, now=NOW + 1) == ()

    second = records.read_user_state(TENANT, USER)
    assert (second.forget_ver, second.erase_ver) > (first.forget_ver, first.erase_ver)
    assert second.erased_at == NOW + 1


def test_erase_user__nobody_known_is_no_error(records: Records) -> None:
    assert erase(records, UserId("nobody")) == ()
    assert records.read_user_state(TENANT, UserId("nobody")).forget_ver > 0


def test_erased_user__may_come_back_and_goes_on_where_the_counters_are(records: Records) -> None:
    before = fill(records)
    erase(records)

    state = records.append_turns(TENANT, USER, turns=[said("t-0", "again"), said("t-1", "more")])
    records.set_preference(TENANT, USER, key="units", value="imperial", now=LATER)
    session = records.create_session(replace(SCOPE, agent=AgentId("sales")), warm=True, now=LATER, expires_at=FAR)

    assert state.hist_seq == before.hist_seq + 2
    assert [(turn.seq, turn.content) for turn in records.newest_turns(TENANT, USER, limit=9)] == [
        (before.hist_seq + 1, "again"),
        (before.hist_seq + 2, "more"),
    ]
    (preference,) = records.list_preferences(TENANT, USER)
    assert (preference.value, preference.version) == ("imperial", before.pref_ver + 1)
    assert records.list_sessions(TENANT, USER, now=LATER) == (session,)
    assert records.read_user_state(TENANT, USER).forget_ver > before.forget_ver


def test_append_turns__for_an_answer_that_began_before_the_erasure_is_refused(records: Records) -> None:
    began = fill(records, turns=2)
    erase(records)

    for turns in ([said("t-new")], [said("t-0")], []):
        with pytest.raises(UserErasedError):
            records.append_turns(TENANT, USER, turns=turns, erase_ver=began.erase_ver)

    assert_nothing_is_shown(records)


def test_append_turns__a_deleted_preference_refuses_no_answer(records: Records) -> None:
    began = fill(records, turns=2)
    records.delete_preference(TENANT, USER, key="units", now=NOW)

    state = records.append_turns(TENANT, USER, turns=[said("t-new")], erase_ver=began.erase_ver)

    assert state.hist_seq == 3


def test_put_frozen__made_of_what_was_forgotten_is_refused(records: Records) -> None:
    fill(records)
    stale = replace(frozen(7), stamp=replace(frozen().stamp, forget_ver=1))
    erase(records)

    with pytest.raises(ConflictError):
        records.put_frozen(SCOPE, stale, expires_at=LATER)

    assert records.read_frozen(SCOPE) is None


def test_put_frozen__after_a_preference_was_deleted_holds_it_no_more(records: Records) -> None:
    records.set_preference(TENANT, USER, key="units", value="metric", now=NOW)
    records.delete_preference(TENANT, USER, key="units", now=NOW)

    with pytest.raises(ConflictError):
        records.put_frozen(SCOPE, frozen(), expires_at=LATER)

    assert records.read_frozen(SCOPE) is None


def test_put_frozen__of_a_user_who_came_back_is_kept(records: Records) -> None:
    fill(records)
    erase(records)
    state = records.read_user_state(TENANT, USER)
    fresh = replace(frozen(), stamp=replace(frozen().stamp, forget_ver=state.forget_ver))

    assert records.put_frozen(SCOPE, fresh, expires_at=LATER) == fresh
    assert records.read_user_state(TENANT, USER) == state


@pytest.mark.parametrize("asked_at", [NOW - 60, NOW])
def test_create_session__asked_for_before_the_erasure_is_refused(records: Records, asked_at: float) -> None:
    fill(records)
    erase(records)

    with pytest.raises(UserErasedError):
        records.create_session(SCOPE, warm=True, now=NOW + 5, expires_at=LATER, asked_at=asked_at)

    assert_nothing_is_shown(records)


def test_create_session__asked_for_after_the_erasure_or_already_there_is_given(records: Records) -> None:
    erase(records)

    made = records.create_session(SCOPE, warm=True, now=NOW + 5, expires_at=LATER, asked_at=NOW + 0.5)
    again = records.create_session(SCOPE, warm=True, now=NOW + 6, expires_at=LATER, asked_at=NOW - 60)

    assert again == made


def test_create_session__asked_for_a_while_ago_by_someone_never_erased_is_given(records: Records) -> None:
    made = records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER, asked_at=NOW - 60)

    assert records.list_sessions(TENANT, USER, now=NOW) == (made,)


def test_erase_user__at_once_with_writers_leaves_whole_rows_or_none(records: Records) -> None:
    fill(records)

    def act(worker: int) -> None:
        if worker == 0:
            erase(records)
            return
        for step in range(4):
            records.append_turns(TENANT, USER, turns=[said(f"{worker}-{step}")])
            records.set_preference(TENANT, USER, key=f"k{worker}", value=step, now=NOW)

    at_once(act)

    state = records.read_user_state(TENANT, USER)
    turns = records.turns_from(TENANT, USER, first_seq=1)
    kept = {preference.key for preference in records.list_preferences(TENANT, USER)}
    assert not {turn.turn_id for turn in turns} & {f"t-{n}" for n in range(70)}
    assert "units" not in kept
    assert [turn.seq for turn in turns] == list(range(state.hist_seq - len(turns) + 1, state.hist_seq + 1))
    # Ids of turns that went are free again, ids of those that stay are not.
    assert records.append_turns(TENANT, USER, turns=[said(turn.turn_id) for turn in turns][:40]) == state
