"""A preference write is acknowledged by the records; the event only follows."""

import pytest

from preheat import names
from preheat.change_preferences import (
    delete_preference,
    list_preferences,
    observe_preference,
    replace_preferences,
    set_preference,
)
from preheat.errors import ForbiddenError, InvalidInputError, NotFoundError
from preheat.preferences import DRIFT_AFTER
from preheat.requests import ObservationCall, PreferenceCall, PreferenceEntry, PreferencesCall
from preheat.session import Principal, UserId
from tests.world import AGENT, SERVICE, TENANT, USER, World

BOB = Principal(TENANT, UserId("bob"), service=False)


def test_set_preference__is_listed_and_announced(world: World) -> None:
    state = set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)

    listed_state, listed = list_preferences(SERVICE, USER, world.ports)
    assert [(one.key, one.value, one.version) for one in listed] == [("seat", "aisle", 1)]
    assert state == listed_state
    assert world.bus.published == [
        (names.PREFERENCE_CHANGED, {"tenant": TENANT, "user": USER, "pref_ver": 1}),
    ]


def test_set_preference__with_the_bus_down_is_still_acknowledged(world: World) -> None:
    world.bus.down = True

    state = set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)

    assert state.pref_ver == 1


def test_set_preference__same_value_twice_is_a_no_op(world: World) -> None:
    for _ in range(2):
        state = set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)

    assert state.pref_ver == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 65, "#", "a#b", "-a"])
def test_set_preference__key_that_cannot_be_a_key_is_refused(world: World, key: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        set_preference(SERVICE, USER, key=key, call=PreferenceCall(value="aisle"), ports=world.ports)

    assert raised.value.field == "key"


def test_set_preference__for_another_user_is_refused(world: World) -> None:
    with pytest.raises(ForbiddenError):
        set_preference(BOB, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)


def test_delete_preference__moves_both_counters(world: World) -> None:
    set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)

    state = delete_preference(SERVICE, USER, key="seat", ports=world.ports)

    assert (state.pref_ver, state.forget_ver) == (2, 1)
    assert list_preferences(SERVICE, USER, world.ports)[1] == ()


def test_set_preference__terms_and_agent_are_kept(world: World) -> None:
    call = PreferenceCall(type="choice", options=("aisle", "window"), value="aisle", source="imported", agent=AGENT)

    set_preference(SERVICE, USER, key="seat", call=call, ports=world.ports)

    (listed,) = list_preferences(SERVICE, USER, world.ports)[1]
    assert (listed.options, listed.source, listed.agent) == (("aisle", "window"), "imported", AGENT)
    assert (listed.kind, listed.updated_at) == ("choice", world.clock.now())


def test_delete_preference__of_an_agent_leaves_the_general_one(world: World) -> None:
    for agent in (None, AGENT):
        set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle", agent=agent), ports=world.ports)

    delete_preference(SERVICE, USER, key="seat", agent=AGENT, ports=world.ports)

    assert [one.agent for one in list_preferences(SERVICE, USER, world.ports)[1]] == [None]


def test_delete_preference__agent_that_cannot_be_one_is_refused(world: World) -> None:
    with pytest.raises(InvalidInputError) as raised:
        delete_preference(SERVICE, USER, key="seat", agent="a#b", ports=world.ports)

    assert raised.value.field == "agent"


def entries(**values: str) -> PreferencesCall:
    return PreferencesCall(preferences=tuple(PreferenceEntry(key=key, value=value) for key, value in values.items()))


def test_replace_preferences__is_one_change_and_one_event(world: World) -> None:
    replace_preferences(SERVICE, USER, call=entries(seat="aisle", diet="vegan", tone="brief"), ports=world.ports)
    world.clock.seconds += 60

    state = replace_preferences(SERVICE, USER, call=entries(seat="aisle", diet="halal"), ports=world.ports)

    assert (state.pref_ver, state.forget_ver) == (2, 1)
    listed_state, listed = list_preferences(SERVICE, USER, world.ports)
    assert listed_state == state
    assert [(one.key, one.value, one.version) for one in listed] == [("diet", "halal", 2), ("seat", "aisle", 1)]
    assert [detail["pref_ver"] for _, detail in world.bus.published] == [1, 2]


def test_replace_preferences__for_another_user_is_refused(world: World) -> None:
    with pytest.raises(ForbiddenError):
        replace_preferences(BOB, USER, call=entries(seat="aisle"), ports=world.ports)

    assert list_preferences(SERVICE, USER, world.ports)[1] == ()


def test_observe_preference__flags_what_drifts_and_announces_nothing(world: World) -> None:
    set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)
    published = len(world.bus.published)

    seen = [
        observe_preference(SERVICE, USER, key="seat", call=ObservationCall(value="window"), ports=world.ports)
        for _ in range(DRIFT_AFTER)
    ]

    assert [one.has_drifted for one in seen] == [False] * (DRIFT_AFTER - 1) + [True]
    assert list_preferences(SERVICE, USER, world.ports)[1] == (seen[-1],)
    assert len(world.bus.published) == published


def test_observe_preference__of_what_was_never_set_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        observe_preference(SERVICE, USER, key="seat", call=ObservationCall(value="window"), ports=world.ports)


def test_observe_preference__for_another_user_is_refused(world: World) -> None:
    set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)

    with pytest.raises(ForbiddenError):
        observe_preference(BOB, USER, key="seat", call=ObservationCall(value="window"), ports=world.ports)
