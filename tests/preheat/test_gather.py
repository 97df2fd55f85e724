"""A bundle at the versions asked for: counted only where something is rebuilt, and by one counter from end to end."""

from dataclasses import dataclass, field

import pytest

from preheat.answer import AnswerRequest, answer
from preheat.ports import Delta
from preheat.prefill import NewMessage, Sampling
from preheat.report import AnswerReport
from preheat.stamp import Frozen
from preheat.warm_session import warm_session
from preheat.warm_state import look_up
from tests.world import World, scope


@dataclass
class Counted:
    """Counts words as tokens, and keeps what it was asked."""

    name: str = "words"
    asked: list[str] = field(default_factory=list)

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split())


@pytest.fixture
def counter(world: World) -> Counted:
    world.counter = Counted()
    return world.counter


def _frozen(world: World) -> Frozen:
    frozen = world.records.read_frozen(scope())
    assert frozen is not None
    return frozen


def test_bring_up_to_date__a_warm_answer_counts_nothing_before_its_last_token(world: World, counter: Counted) -> None:
    world.add_turns(4)
    warm_session(scope(), world.ports)
    counter.asked.clear()
    request = AnswerRequest(
        scope(),
        (NewMessage("user", "where to?"),),
        Sampling(max_tokens=8),
        "r1",
        accepted_ms=world.clock.monotonic_ms(),
    )

    seen = [(item, len(counter.asked)) for item in answer(request, world.ports)]

    assert [counts for item, counts in seen if isinstance(item, Delta)] == [0] * (len(seen) - 1)
    report = seen[-1][0]
    assert isinstance(report, AnswerReport)
    assert report.state == "warm"
    # Then what was said is counted once, for the next message.
    assert counter.asked == ["where to?", "All set."]


def test_bring_up_to_date__a_changed_preference_counts_nothing(world: World, counter: Counted) -> None:
    world.set_preference("seat", "aisle")
    warm_session(scope(), world.ports)
    world.set_preference("seat", "window")
    counter.asked.clear()

    _, report = world.ask(scope())

    assert report.state == "stale-rebuilt"
    assert counter.asked == ["where to?", "All set."]


def test_bring_up_to_date__new_turns_count_the_turns_alone(world: World, counter: Counted) -> None:
    warm_session(scope(), world.ports)
    world.add_turns(2, session="s1")
    counter.asked.clear()

    world.ask(scope())

    assert counter.asked == ["turn 0", "turn 1", "where to?", "All set."]


def test_bring_up_to_date__what_another_counter_chose_is_never_served(world: World) -> None:
    world.add_turns(40)
    warm_session(scope(), world.ports)
    by_ceiling = _frozen(world)
    kept = dict(world.store.sealed)

    world.counter = Counted()
    _, report = world.ask(scope())

    assert report.state == "cold"
    assert report.reasons[0] == "no_bundle"
    by_words = _frozen(world)
    assert (by_ceiling.stamp.model, by_words.stamp.model) == ("fake+ceiling-1", "fake+words")
    assert not by_ceiling.serves(by_words.stamp)
    assert by_words.generation == by_ceiling.generation + 1
    assert kept.items() <= world.store.sealed.items()


def test_look_up__finds_nothing_of_another_counter(world: World) -> None:
    warm_session(scope(), world.ports)
    assert look_up(scope(), world.ports).bundle is not None

    world.counter = Counted()

    assert look_up(scope(), world.ports).bundle is None
