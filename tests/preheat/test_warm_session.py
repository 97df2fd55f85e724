"""A warm-up leaves one bundle, one prefill and one reason, however often its event comes."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

import pytest

from preheat.errors import EndpointRefusedError, EndpointUnavailableError, NotFoundError, StoreUnavailableError
from preheat.events import PreferenceChanged
from preheat.ports import Prefilled
from preheat.prefill import EngineRequest
from preheat.refresh_preferences import refresh_preferences
from preheat.session import AgentId, Scope
from preheat.warm_session import warm_session
from preheat.warm_state import look_up
from tests.world import TENANT, USER, World, scope


def test_warm_session__stores_bundle_and_receipt(world: World) -> None:
    world.add_turns(2)

    report = warm_session(scope(), world.ports)

    state = look_up(scope(), world.ports)
    assert report.outcome == "warm"
    assert state.bundle is not None
    assert state.receipt is not None
    assert [section.name for section in state.bundle.sections] == [
        "core_tools",
        "instructions",
        "session_tools",
        "recent_turns",
    ]
    assert state.receipt.warmed_tokens == report.warmed_tokens > 0


def test_warm_session__same_event_three_times_is_one_prefill(world: World) -> None:
    outcomes = [warm_session(scope(), world.ports).outcome for _ in range(3)]

    assert outcomes == ["warm", "already_warm", "already_warm"]
    assert len(world.endpoint.requests) == 1


def test_warm_session__same_event_three_times_at_once_is_one_prefill(world: World) -> None:
    gate = threading.Event()

    class SlowEndpoint:
        """Holds the first prefill until all three events are under way."""

        def prefill(self, request: EngineRequest) -> Prefilled:
            gate.wait(5)
            return world.endpoint.prefill(request)

        generate = world.endpoint.generate

    ports = replace(world.ports, endpoint=SlowEndpoint())
    with ThreadPoolExecutor(3) as events:
        flights = [events.submit(warm_session, scope(), ports) for _ in range(3)]
        first = next(as_completed(flights, timeout=5))
        second = next(as_completed([flight for flight in flights if flight is not first], timeout=5))
        gate.set()

    assert {first.result().outcome, second.result().outcome} == {"in_flight"}
    assert sorted(flight.result().outcome for flight in flights) == ["in_flight", "in_flight", "warm"]
    assert len(world.endpoint.requests) == 1


def test_warm_session__unknown_agent_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        warm_session(Scope(TENANT, USER, AgentId("nobody"), scope().session), world.ports)


@pytest.mark.parametrize("fault", [EndpointUnavailableError("cold"), EndpointRefusedError("too long")])
def test_warm_session__engine_that_does_not_serve_is_an_outcome_and_may_be_tried_again(
    world: World, fault: EndpointUnavailableError | EndpointRefusedError
) -> None:
    world.endpoint.fault = fault
    failed = warm_session(scope(), world.ports)
    world.endpoint.fault = None

    again = warm_session(scope(), world.ports)

    assert (failed.outcome, failed.detail) == ("failed", fault.code)
    assert again.outcome == "warm"


def test_warm_session__failed_prefill_still_leaves_the_bundle(world: World) -> None:
    world.endpoint.fault = EndpointUnavailableError("cold")
    warm_session(scope(), world.ports)
    world.endpoint.fault = None

    _, answer = world.ask(scope())

    assert answer.state == "cold"
    assert answer.reasons == ("prefill_failed:endpoint_unavailable",)


def test_warm_session__without_a_store_is_retried_and_has_no_side_effect(world: World) -> None:
    world.store.fault = StoreUnavailableError("down")

    with pytest.raises(StoreUnavailableError):
        warm_session(scope(), world.ports)

    assert world.endpoint.requests == []


def test_warm_session__lever_off_builds_the_bundle_and_names_the_reason(world: World) -> None:
    world.prefill = False

    report = warm_session(scope(), world.ports)

    assert report.outcome == "lever_off"
    assert world.endpoint.requests == []
    assert look_up(scope(), world.ports).bundle is not None


def test_warm_session__prefix_that_expired_is_warmed_again(world: World) -> None:
    warm_session(scope(), world.ports)
    world.clock.seconds += 301

    report = warm_session(scope(), world.ports)

    assert report.outcome == "warm"
    assert len(world.endpoint.requests) == 2


def test_warm_session__in_flight_that_crashed_is_warmed_after_its_claim(world: World) -> None:
    class CrashingEndpoint:
        """Ends the process in the middle, as far as the ports can tell."""

        def prefill(self, request: EngineRequest) -> Prefilled:
            assert request.warm_up
            raise KeyboardInterrupt

        generate = world.endpoint.generate

    with pytest.raises(KeyboardInterrupt):
        warm_session(scope(), replace(world.ports, endpoint=CrashingEndpoint()))
    soon = warm_session(scope(), world.ports)
    world.clock.seconds += 121

    later = warm_session(scope(), world.ports)

    assert soon.outcome == "in_flight"
    assert later.outcome == "warm"


def test_refresh_preferences__brings_live_sessions_to_the_change_without_a_second_prefill(world: World) -> None:
    world.set_preference("seat", "aisle")
    warm_session(scope(), world.ports)
    world.set_preference("seat", "window")

    reports = refresh_preferences(PreferenceChanged(tenant=TENANT, user=USER), world.ports)
    _, answer = world.ask(scope())

    assert [report.outcome for report in reports] == ["already_warm"]
    assert answer.state == "warm"
    assert 'seat is now \\"window\\"' in world.last_prompt()


def test_refresh_preferences__after_a_deletion_prefills_the_rebuilt_prefix(world: World) -> None:
    world.set_preference("seat", "aisle")
    warm_session(scope(), world.ports)
    world.records.delete_preference(TENANT, USER, key="seat", now=world.clock.now())

    reports = refresh_preferences(PreferenceChanged(tenant=TENANT, user=USER), world.ports)
    _, answer = world.ask(scope())

    assert [report.outcome for report in reports] == ["warm"]
    assert answer.state == "warm"
    assert "aisle" not in world.last_prompt()


def test_refresh_preferences__leaves_sessions_alone_that_are_to_stay_cold(world: World) -> None:
    world.start(scope(), warm=False)

    assert refresh_preferences(PreferenceChanged(tenant=TENANT, user=USER), world.ports) == ()
