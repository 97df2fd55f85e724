"""The freshness protocol, searched over every interleaving; and the mutants that show what each of its rules is for."""

from dataclasses import dataclass

import pytest

from tests.protocol.checker import explore
from tests.protocol.protocol import Protocol, Scene
from tests.protocol.rules import PROTOCOL, Rules
from tests.protocol.state import Act

SET, DELETE, REPLACE_AGENT = Act.SET, Act.DELETE, Act.REPLACE_AGENT


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(Scene(acts=(SET, DELETE)), id="two writers, two builders, two readers"),
        pytest.param(Scene(acts=(SET, SET), builders=1), id="two changes"),
        pytest.param(Scene(acts=(SET, REPLACE_AGENT), readers=1), id="a change and another agent version"),
        pytest.param(
            Scene(acts=(SET, DELETE), builders=1, readers=1, weakest=True), id="the weakest cache there can be"
        ),
        pytest.param(Scene(acts=(SET,), builders=1, readers=2, saves=True), id="answers that keep what they grew"),
    ],
)
def test_protocol__serves_nothing_stale_or_forgotten_however_steps_fall(scene: Scene) -> None:
    verdict = explore(Protocol(scene).machine())

    print(verdict)
    assert verdict.fault == "", str(verdict)
    assert verdict.states > 1_000


@dataclass(frozen=True)
class Mutant:
    """One rule left out, and a scene that is large enough to show what it is for."""

    rules: Rules
    scene: Scene


def scene_of(*acts: Act, builders: int = 1, deliveries: int = 1, losses: int = 0) -> Scene:
    return Scene(acts=acts, builders=builders, readers=1, deliveries=deliveries, losses=losses)


MUTANTS = {
    "check dropped": Mutant(Rules(serves="anything"), scene_of(SET)),
    "eventually consistent version read": Mutant(Rules(reads_versions="eventually"), scene_of(SET)),
    "rows read before the counters": Mutant(Rules(reads_first="rows"), scene_of(SET)),
    "counter moved before the row": Mutant(Rules(row_and_counter="counter_first"), scene_of(SET)),
    "counter moved after the row": Mutant(Rules(row_and_counter="row_first"), scene_of(SET)),
    "ttl only": Mutant(Rules(serves="anything", builds="when_expired"), scene_of(SET, deliveries=2, losses=1)),
    "delete on write": Mutant(Rules(serves="anything", builds="when_expired", on_write="delete"), scene_of(SET)),
    "unconditional put and no check": Mutant(
        Rules(serves="anything", on_write="write_through", put="always"), scene_of(SET, SET)
    ),
    "put over a newer bundle": Mutant(Rules(put="always"), scene_of(SET, DELETE, builders=2, deliveries=2)),
    "correction dropped": Mutant(Rules(corrects=False), scene_of(SET)),
    "deletion as a correction": Mutant(Rules(deletion="corrects"), scene_of(DELETE)),
    "frozen record overwritten": Mutant(Rules(put_frozen="last_wins"), scene_of(SET, DELETE, builders=2, deliveries=2)),
    "frozen record never replaced": Mutant(Rules(replaces_frozen=False), scene_of(DELETE)),
    "newer frozen record replaced": Mutant(
        Rules(respects_newer=False), scene_of(SET, DELETE, builders=2, deliveries=2)
    ),
    "deleted key not refused": Mutant(Rules(refuses_deleted=False), scene_of(SET, DELETE)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_protocol__without_one_of_its_rules_breaks_a_promise(name: str) -> None:
    mutant = MUTANTS[name]
    assert mutant.rules != PROTOCOL

    verdict = explore(Protocol(mutant.scene, mutant.rules).machine())

    print(verdict)
    assert verdict.fault, f"{name} is not caught: {verdict}"
    assert len(verdict.trace) > 2
