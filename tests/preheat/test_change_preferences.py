"""A preference write is acknowledged by the records; the event only follows."""

import pytest

from preheat import names
from preheat.change_preferences import delete_preference, list_preferences, set_preference
from preheat.errors import ForbiddenError, InvalidInputError
from preheat.requests import PreferenceCall
from preheat.session import Principal, UserId
from tests.world import SERVICE, TENANT, USER, World


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
    bob = Principal(TENANT, UserId("bob"), service=False)

    with pytest.raises(ForbiddenError):
        set_preference(bob, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)


def test_delete_preference__moves_both_counters(world: World) -> None:
    set_preference(SERVICE, USER, key="seat", call=PreferenceCall(value="aisle"), ports=world.ports)

    state = delete_preference(SERVICE, USER, key="seat", ports=world.ports)

    assert (state.pref_ver, state.forget_ver) == (2, 1)
    assert list_preferences(SERVICE, USER, world.ports)[1] == ()
