"""The turn log by parts: whose it is, how much of it at a time, and of which session."""

import pytest

from preheat.errors import ForbiddenError, SourceUnavailableError
from preheat.read_turns import read_turns
from preheat.requests import TurnsQuery
from preheat.session import Principal, SessionId, TenantId, UserId
from tests.world import SERVICE, TENANT, USER, World

SELF = Principal(TENANT, USER, service=False)


@pytest.fixture
def log(world: World) -> World:
    """Six turns, of two sessions in turn."""
    for _ in range(3):
        world.add_turns(1, session="one")
        world.add_turns(1, session="two")
    return world


@pytest.mark.parametrize("caller", [SELF, SERVICE])
def test_read_turns__is_for_the_user_and_for_the_tenants_backend(log: World, caller: Principal) -> None:
    page = read_turns(caller, USER, query=TurnsQuery(after=1, limit=2), ports=log.ports)

    assert [turn.seq for turn in page.turns] == [2, 3]
    assert page.next_after == 3


def test_read_turns__another_user_is_refused_before_anything_is_read(log: World) -> None:
    with pytest.raises(ForbiddenError):
        read_turns(Principal(TENANT, UserId("eve"), service=False), USER, query=TurnsQuery(), ports=log.ports)

    assert log.records.calls["turn_page"] == 0


def test_read_turns__another_tenants_backend_finds_nothing(log: World) -> None:
    other = Principal(TenantId("other"), None, service=True)

    assert read_turns(other, USER, query=TurnsQuery(), ports=log.ports).turns == ()


def test_read_turns__of_a_session_keeps_its_place_in_the_whole_log(log: World) -> None:
    of_two = TurnsQuery(limit=3, session="two")

    first = read_turns(SELF, USER, query=of_two, ports=log.ports)
    second = read_turns(SELF, USER, query=of_two.model_copy(update={"after": first.next_after}), ports=log.ports)

    assert [turn.seq for page in (first, second) for turn in page.turns] == [2, 4, 6]
    assert (first.next_after, second.next_after) == (3, None)


def test_read_turns__of_an_unknown_session_is_empty_and_goes_on(log: World) -> None:
    page = read_turns(SELF, USER, query=TurnsQuery(limit=2, session=SessionId("none")), ports=log.ports)

    assert (page.turns, page.next_after) == ((), 2)


def test_read_turns__makes_one_read_a_part(log: World) -> None:
    read_turns(SELF, USER, query=TurnsQuery(), ports=log.ports)

    assert log.records.calls["turn_page"] == 1


def test_read_turns__records_out_of_reach_are_an_error(log: World) -> None:
    log.records.unavailable.add("turn_page")

    with pytest.raises(SourceUnavailableError):
        read_turns(SELF, USER, query=TurnsQuery(), ports=log.ports)
