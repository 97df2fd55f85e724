"""The contract of `preheat.ports.Records`: sessions and what they keep for their life."""

from typing import TYPE_CHECKING

import pytest

from preheat.errors import SessionTakenError
from preheat.ports import Records
from preheat.preferences import Preference
from preheat.session import AgentId, Scope, SessionId, SessionRecord
from tests.contracts.records.samples import (
    AGENT,
    LATER,
    NOW,
    SCOPE,
    SESSION,
    STRANGE_TEXT,
    TENANT,
    USER,
    at_once,
    frozen,
)

if TYPE_CHECKING:
    from preheat.stamp import Frozen


def test_create_session__a_known_id_gives_the_first_record(records: Records) -> None:
    first = records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)

    again = records.create_session(SCOPE, warm=False, now=NOW + 1, expires_at=LATER + 1)

    assert first == SessionRecord(SESSION, AGENT, warm=True, created_at=NOW, expires_at=LATER)
    assert again == first


def test_create_session__another_agents_live_id_is_a_conflict(records: Records) -> None:
    first = records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)
    other = Scope(TENANT, USER, AgentId("sales"), SESSION)

    with pytest.raises(SessionTakenError):
        records.create_session(other, warm=True, now=NOW, expires_at=LATER)

    assert records.read_versions(SCOPE).session == first


def test_create_session__an_expired_one_is_replaced_and_nothing_of_it_is_kept(records: Records) -> None:
    records.create_session(SCOPE, warm=True, now=NOW, expires_at=NOW + 0.25)
    records.put_frozen(SCOPE, frozen(5), expires_at=NOW + 0.25)
    other = Scope(TENANT, USER, AgentId("sales"), SESSION)

    record = records.create_session(other, warm=False, now=NOW + 0.25, expires_at=LATER)

    assert record == SessionRecord(SESSION, other.agent, warm=False, created_at=NOW + 0.25, expires_at=LATER)
    assert records.read_versions(other).session == record
    assert records.read_frozen(other) is None


def test_create_session__a_repeated_call_keeps_what_was_frozen(records: Records) -> None:
    records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)
    records.put_frozen(SCOPE, frozen(), expires_at=LATER)

    records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)

    assert records.read_frozen(SCOPE) == frozen()


def test_create_session__at_once_all_get_one_record(records: Records) -> None:
    made: list[SessionRecord] = []

    at_once(lambda n: made.append(records.create_session(SCOPE, warm=True, now=NOW + n, expires_at=LATER)))

    assert len(set(made)) == 1
    assert records.list_sessions(TENANT, USER, now=NOW) == (made[0],)


def test_list_sessions__gives_the_live_ones_sorted(records: Records) -> None:
    for number, name in enumerate(("s-b", "s-c", "S-a", "s-a")):
        scope = Scope(TENANT, USER, AGENT, SessionId(name))
        records.create_session(scope, warm=True, now=NOW, expires_at=NOW + 10 * number)

    live = records.list_sessions(TENANT, USER, now=NOW + 10)

    assert [record.session for record in live] == ["S-a", "s-a"]


def test_put_frozen__the_first_of_a_generation_wins(records: Records) -> None:
    first = records.put_frozen(SCOPE, frozen(first_seq=1), expires_at=LATER)

    second = records.put_frozen(SCOPE, frozen(first_seq=2), expires_at=LATER)

    assert first == frozen(first_seq=1)
    assert second == first == records.read_frozen(SCOPE)


def test_put_frozen__a_later_generation_replaces_and_an_earlier_does_not(records: Records) -> None:
    records.put_frozen(SCOPE, frozen(0), expires_at=LATER)

    assert records.put_frozen(SCOPE, frozen(2), expires_at=LATER) == frozen(2)
    assert records.put_frozen(SCOPE, frozen(1), expires_at=LATER) == frozen(2)


def test_put_frozen__one_past_its_life_gives_way_to_the_next_generation(records: Records) -> None:
    records.put_frozen(SCOPE, frozen(0), expires_at=NOW - 1000)

    assert records.put_frozen(SCOPE, frozen(1), expires_at=LATER) == frozen(1)


def test_put_frozen__at_once_all_get_one_winner(records: Records) -> None:
    winners: list[Frozen] = []

    at_once(lambda n: winners.append(records.put_frozen(SCOPE, frozen(first_seq=n), expires_at=LATER)))

    assert len(set(winners)) == 1
    assert records.read_frozen(SCOPE) == winners[0]


def test_read_frozen__a_large_preference_set_comes_back_whole(records: Records) -> None:
    preferences = tuple(Preference(f"key-{n:04d}", f"{STRANGE_TEXT} {n}" * 5, n, NOW) for n in range(2000))

    records.put_frozen(SCOPE, frozen(preferences=preferences), expires_at=LATER)

    kept = records.read_frozen(SCOPE)
    assert kept is not None
    assert kept.preferences == preferences


def test_read_frozen__sessions_do_not_share(records: Records) -> None:
    records.put_frozen(SCOPE, frozen(), expires_at=LATER)

    assert records.read_frozen(Scope(TENANT, USER, AGENT, SessionId("s-2"))) is None
