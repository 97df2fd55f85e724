"""The steps of a writer: one transaction, or what a mutant makes of it."""

from collections.abc import Iterator

from tests.protocol.checker import Move
from tests.protocol.rules import Rules
from tests.protocol.state import NO_BUNDLE, NO_VALUE, Act, Bundle, Frozen, State, Writer

_NAMES = {Act.SET: "set_preference", Act.DELETE: "delete_preference", Act.REPLACE_AGENT: "put_agent"}


def steps_of(act: Act, rules: Rules) -> int:
    """Return how many steps a write takes to its acknowledgement."""
    alone = rules.row_and_counter == "together" and rules.on_write == "nothing"
    return 1 if alone or act is Act.REPLACE_AGENT else 2


def write(state: State, number: int, rules: Rules) -> Iterator[Move[State]]:
    """Return the next steps of one writer. A write is acknowledged with its last step."""
    writer = state.writers[number]
    name = f"writer {number + 1}: {_NAMES[writer.act]}"
    if writer.act is Act.REPLACE_AGENT:
        after = state._replace(agent=state.agent + 1)
        yield Move(f"{name} commits version {after.agent}", after.with_writer(number, writer._replace(left=0)))
    elif writer.left == steps_of(writer.act, rules):
        yield _first(state, number, writer, rules=rules, name=name)
    else:
        yield from _second(state, number, writer, rules=rules, name=name)


def _first(state: State, number: int, writer: Writer, *, rules: Rules, name: str) -> Move[State]:
    if writer.act is Act.DELETE and state.history[-1] == NO_VALUE:
        nothing = writer._replace(row=len(state.history) - 1)
        return Move(f"{name} finds nothing to delete", _acknowledged(state, number, nothing))
    after, what = state, "the counters"
    if rules.row_and_counter != "counter_first":
        after, what = _with_row(after, writer.act), f"value {_with_row(after, writer.act).history[-1]}"
    if rules.row_and_counter != "row_first":
        after = _with_counters(after, writer.act, rules)
    writer = writer._replace(left=writer.left - 1, row=len(state.history))
    after = after.with_writer(number, writer) if writer.left else _acknowledged(after, number, writer)
    return Move(f"{name} commits {what}", after)


def _second(state: State, number: int, writer: Writer, *, rules: Rules, name: str) -> Iterator[Move[State]]:
    if rules.row_and_counter == "counter_first":
        row = writer._replace(row=len(state.history))
        yield Move(f"{name} writes the row", _acknowledged(_with_row(state, writer.act), number, row))
    elif rules.row_and_counter == "row_first":
        yield Move(f"{name} moves the counters", _acknowledged(_with_counters(state, writer.act, rules), number, writer))
        if state.history[-1] == state.history[writer.row]:
            again = f"{name} crashes, is tried again and finds the row as it wants it"
            yield Move(again, _acknowledged(state, number, writer))
    elif rules.on_write == "delete":
        yield Move(f"{name} deletes the cached bundle", _acknowledged(state._replace(slot=NO_BUNDLE), number, writer))
    else:
        frozen = Frozen(0, state.agent, state.forget, state.history[-1])
        bundle = Bundle(state.stamp, frozen, NO_VALUE)
        after = put(state, bundle, rules=rules)
        yield Move(f"{name} writes {bundle} to the cache", _acknowledged(after, number, writer))


def put(state: State, bundle: Bundle, *, rules: Rules) -> State:
    """Return the state after `WarmStore.put`."""
    if state.given:
        plain = bundle._replace(frozen=bundle.frozen._replace(generation=0))
        return state._replace(given=state.given | {plain})
    if rules.put == "not_older" and state.slot.stamp.order > bundle.stamp.order:
        return state
    return state._replace(slot=bundle)


def _with_row(state: State, act: Act) -> State:
    value = NO_VALUE if act is Act.DELETE else len(state.history)
    return state._replace(history=(*state.history, value))


def _with_counters(state: State, act: Act, rules: Rules) -> State:
    forgets = act is Act.DELETE and rules.deletion == "rebuilds"
    return state._replace(pref=state.pref + 1, forget=state.forget + forgets)


def _acknowledged(state: State, number: int, writer: Writer) -> State:
    return state._replace(acked=max(state.acked, writer.row)).with_writer(number, writer._replace(left=0))
