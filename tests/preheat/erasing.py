"""A user with a past, and what is left of it in any tier, for the tests of erasures."""

from typing import Final

from preheat import keys
from preheat.adapters.memory_records import MemoryRecords
from preheat.erase_user import EraseReceipt, erase_user
from preheat.ports import NewTurn
from preheat.warm_session import warm_session
from tests.world import SERVICE, TENANT, USER, World, scope

CANARY: Final = "canary-7f3a"


def give_a_past(world: World) -> World:
    """Give the user a preference, a turn, and a warm session made of them."""
    world.records = MemoryRecords(sleep=world.clock.sleep)
    world.add_agent()
    world.set_preference("seat", CANARY)
    world.records.append_turns(TENANT, USER, turns=[NewTurn("t1", scope().session, "user", CANARY)])
    warm_session(scope(), world.ports)
    return world


def erase(world: World) -> EraseReceipt:
    """Erase the user."""
    return erase_user(SERVICE, USER, world.ports)


def traces(world: World) -> list[str]:
    """Return what is left of the user in any tier."""
    left = [key for key in world.store.sealed if keys.owner_of(key) == keys.user_partition(TENANT, USER)]
    rows = (
        world.records.list_preferences(TENANT, USER),
        world.records.turns_from(TENANT, USER, first_seq=0),
        world.records.list_sessions(TENANT, USER, now=0.0),
        world.records.read_frozen(scope()) or (),
    )
    return left + [repr(found) for found in rows if found]
