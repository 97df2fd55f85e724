"""A changed preference reaches running sessions; what was changed elsewhere is written first, in its source's order."""

import pytest

from preheat.errors import InvalidInputError
from preheat.events import PreferenceChanged
from preheat.preferences import MAX_PREFERENCES, NewPreference, Preference
from preheat.refresh_preferences import refresh_preferences
from preheat.report import WarmReport
from preheat.warm_session import warm_session
from preheat.warm_state import look_up
from tests.world import AGENT, TENANT, USER, World, scope


def refresh(world: World, **change: object) -> tuple[WarmReport, ...]:
    return refresh_preferences(PreferenceChanged(tenant=TENANT, user=USER, **change), world.ports)


def listed(world: World) -> tuple[Preference, ...]:
    return world.records.list_preferences(TENANT, USER)


def values(world: World) -> list[object]:
    return [one.value for one in listed(world)]


def corrections(world: World) -> tuple[str, ...]:
    bundle = look_up(scope(), world.ports).bundle
    assert bundle is not None
    return bundle.corrections


def test_refresh__without_a_change_brings_live_sessions_to_what_is_written(world: World) -> None:
    warm_session(scope(), world.ports)
    world.set_preference("seat", "aisle")

    (report,) = refresh(world)

    assert report.stamp == "a1.c1.f0.p1.h0"
    assert corrections(world) == ('seat is now "aisle".',)


def test_refresh__change_made_elsewhere_is_written_before_sessions_are_brought_to_it(world: World) -> None:
    warm_session(scope(), world.ports)
    at = world.clock.now() - 60

    refresh(world, key="seat", value="aisle", type="choice", options=["aisle", "window"], source="imported", time=at)

    assert listed(world) == (Preference("seat", "aisle", 1, at, None, ("aisle", "window"), "imported"),)
    assert corrections(world) == ('seat is now "aisle".',)


def test_refresh__older_change_never_overwrites_a_newer_one(world: World) -> None:
    for version, value in ((2, "window"), (1, "aisle"), (2, "window"), (3, "middle"), (2, "window")):
        refresh(world, key="seat", value=value, version=version)

    assert values(world) == ["middle"]
    assert world.records.read_user_state(TENANT, USER).pref_ver == 2


def test_refresh__late_set_does_not_bring_back_what_was_deleted(world: World) -> None:
    refresh(world, key="seat", value="aisle", version=1)
    refresh(world, key="seat", deleted=True, version=3)

    refresh(world, key="seat", value="window", version=2)

    state = world.records.read_user_state(TENANT, USER)
    assert values(world) == []
    assert (state.pref_ver, state.forget_ver) == (2, 1)


def test_refresh__change_that_was_sent_before_one_made_here_is_too_late(world: World) -> None:
    world.set_preference("seat", "aisle")
    world.clock.seconds += 60

    refresh(world, key="seat", value="window", version=9, time=world.clock.now() - 61)

    assert values(world) == ["aisle"]


def test_refresh__change_for_one_agent_is_that_agents_alone(world: World) -> None:
    world.set_preference("seat", "aisle")

    refresh(world, key="seat", value="window", agent=AGENT, version=1)
    refresh(world, key="seat", value="middle", agent="other", version=1)
    refresh(world, key="seat", deleted=True, agent="other", version=2)

    assert [(one.agent, one.value) for one in listed(world)] == [(None, "aisle"), (AGENT, "window")]


def test_refresh__change_from_the_future_is_refused_for_it_would_bar_all_that_follow(world: World) -> None:
    refresh(world, key="seat", value="aisle", time=world.clock.now() + 299)

    with pytest.raises(InvalidInputError) as caught:
        refresh(world, key="seat", value="window", time=world.clock.now() + 301)

    assert caught.value.field == "time"
    assert values(world) == ["aisle"]


def test_refresh__change_beyond_what_a_user_may_have_is_refused(world: World) -> None:
    wanted = [NewPreference(f"k{number}", number) for number in range(MAX_PREFERENCES)]
    world.records.replace_preferences(TENANT, USER, wanted=wanted, now=world.clock.now())

    with pytest.raises(InvalidInputError) as caught:
        refresh(world, key="seat", value="aisle", version=1)

    assert caught.value.field == "key"


def test_refresh__change_that_was_made_before_the_user_was_erased_is_void(world: World) -> None:
    now = world.clock.now()
    world.records.erase_user(TENANT, USER, now=now, settle_s=0.0, kept_until=now + 9)

    refresh(world, key="seat", value="aisle", time=now - 1)
    refresh(world, key="diet", value="vegan", time=now + 1)

    assert values(world) == ["vegan"]
