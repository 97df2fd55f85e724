"""A session is on record before anything else happens, and its view says only what the engine supports."""

import pytest

from preheat import names
from preheat.errors import EndpointUnavailableError, ForbiddenError, NotFoundError, SessionTakenError
from preheat.requests import SessionCall
from preheat.session import AgentId, Principal
from preheat.start_session import SessionView, Started, read_session, start_session
from preheat.warm_session import warm_session
from tests.world import AGENT, SERVICE, TENANT, USER, World, scope


def start(world: World, *, warm: bool = True, agent: str = AGENT, caller: Principal = SERVICE) -> Started:
    call = SessionCall(agent=agent, session_id="s1", warm=warm)
    return start_session(caller, USER, call=call, fresh_id="fresh", ports=world.ports)


def view(world: World) -> SessionView:
    return read_session(SERVICE, USER, session="s1", ports=world.ports)


def test_start_session__publishes_its_event(world: World) -> None:
    started = start(world)

    assert started.state == "warming"
    assert world.bus.published == [
        (names.SESSION_STARTED, {"tenant": TENANT, "user": USER, "agent": AGENT, "session_id": "s1"})
    ]


def test_start_session__without_an_id_gets_a_fresh_one(world: World) -> None:
    started = start_session(SERVICE, USER, call=SessionCall(agent=AGENT), fresh_id="fresh", ports=world.ports)

    assert started.session.session == "fresh"


def test_start_session__cold_on_purpose_publishes_nothing(world: World) -> None:
    started = start(world, warm=False)

    assert (started.state, started.reason) == ("cold", "session_started_without_warm_up")
    assert world.bus.published == []


def test_start_session__with_the_bus_down_is_recorded_and_says_so(world: World) -> None:
    world.bus.down = True

    started = start(world)

    assert (started.state, started.reason) == ("cold", "bus_unavailable")
    assert world.ask(scope())[1].state == "cold"


def test_start_session__unknown_agent_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        start(world, agent="nobody")


def test_start_session__id_of_another_agents_session_is_a_conflict(world: World) -> None:
    start(world)
    state = world.records.read_agent_state(TENANT, AGENT)
    assert state is not None
    agent = world.records.load_agent(TENANT, AGENT, state=state)
    world.records.put_agent(TENANT, AgentId("other"), profile=agent.profile, catalog=agent.catalog)

    with pytest.raises(SessionTakenError):
        start(world, agent="other")


def test_start_session__users_token_may_not_name_another_user(world: World) -> None:
    with pytest.raises(ForbiddenError):
        start(world, caller=Principal(TENANT, user=None, service=False))


def test_read_session__before_the_event_is_handled_is_warming(world: World) -> None:
    start(world)

    assert (view(world).state, view(world).reason) == ("warming", "no_bundle_yet")


def test_read_session__after_the_warm_up_is_warm_with_its_sections(world: World) -> None:
    start(world)
    warm_session(scope(), world.ports)

    shown = view(world)

    assert (shown.state, shown.reason) == ("warm", "")
    assert shown.warmed_tokens > 0
    assert {section.name for section in shown.sections} >= {"core_tools", "instructions"}
    assert all(len(section.sha256) == 64 for section in shown.sections)


def test_read_session__after_a_change_is_cold_until_it_is_refreshed(world: World) -> None:
    start(world)
    warm_session(scope(), world.ports)
    world.set_preference("seat", "aisle")

    assert (view(world).state, view(world).reason) == ("cold", "bundle_behind_versions")


def test_read_session__past_the_prefix_ttl_is_cold(world: World) -> None:
    start(world)
    warm_session(scope(), world.ports)
    world.clock.seconds += 301

    assert (view(world).state, view(world).reason) == ("cold", "prefix_expired")


def test_read_session__failed_warm_up_names_its_reason(world: World) -> None:
    start(world)
    world.endpoint.fault = EndpointUnavailableError("cold")
    warm_session(scope(), world.ports)

    assert (view(world).state, view(world).reason) == ("failed", "endpoint_unavailable")


def test_read_session__lever_off_says_so(world: World) -> None:
    world.prefill = False
    start(world)
    warm_session(scope(), world.ports)

    assert (view(world).state, view(world).reason) == ("cold", "lever_off")


def test_read_session__of_nobody_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        view(world)
