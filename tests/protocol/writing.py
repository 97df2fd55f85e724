"""The steps of a writer: one transaction, or what a mutant makes of it."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.protocol.rules import Rules
from tests.protocol.state import NO_BUNDLE, NO_VALUE, Act, Bundle, Frozen, Shared, Writer

_NAMES = {Act.SET: "set_preference", Act.DELETE: "delete_preference", Act.REPLACE_AGENT: "put_agent"}


class Wrote(NamedTuple):
    """One step of a writer: what it does in words, what is shared after it, where the writer stands."""

    label: str
    shared: Shared
    writer: Writer


def steps_of(act: Act, rules: Rules) -> int:
    """Return how many steps a write takes to its acknowledgement."""
    alone = rules.row_and_counter == "together" and rules.on_write == "nothing"
    return 1 if alone or act is Act.REPLACE_AGENT else 2


def write(shared: Shared, writer: Writer, rules: Rules) -> Iterator[Wrote]:
    """Return the next steps of one writer. A write is acknowledged with its last step."""
    name = _NAMES[writer.act]
    if writer.act is Act.REPLACE_AGENT:
        after = shared._replace(agent=shared.agent + 1)
        yield Wrote(f"{name} commits version {after.agent}", after, writer._replace(left=0))
    elif writer.left == steps_of(writer.act, rules):
        yield _first(shared, writer, rules=rules, name=name)
    else:
        yield from _second(shared, writer, rules=rules, name=name)


def _first(shared: Shared, writer: Writer, *, rules: Rules, name: str) -> Wrote:
    if writer.act is Act.DELETE and shared.history[-1] == NO_VALUE:
        return _acknowledged(f"{name} finds nothing", shared, writer._replace(row=len(shared.history) - 1))
    after, what = shared, "the counters"
    if rules.row_and_counter != "counter_first":
        after = _with_row(after, writer.act)
        what = f"value {after.history[-1]}"
    if rules.row_and_counter != "row_first":
        after = _with_counters(after, writer.act, rules)
    writer = writer._replace(left=writer.left - 1, row=len(shared.history))
    label = f"{name} commits {what}"
    return Wrote(label, after, writer) if writer.left else _acknowledged(label, after, writer)


def _second(shared: Shared, writer: Writer, *, rules: Rules, name: str) -> Iterator[Wrote]:
    if rules.row_and_counter == "counter_first":
        row = writer._replace(row=len(shared.history))
        yield _acknowledged(f"{name} writes the row", _with_row(shared, writer.act), row)
    elif rules.row_and_counter == "row_first":
        yield _acknowledged(f"{name} moves the counters", _with_counters(shared, writer.act, rules), writer)
        if shared.history[-1] == shared.history[writer.row]:
            yield _acknowledged(f"{name} crashes, is tried again and finds the row as it wants it", shared, writer)
    elif rules.on_write == "delete":
        yield _acknowledged(f"{name} deletes the cached bundle", shared._replace(slot=NO_BUNDLE), writer)
    else:
        bundle = Bundle(shared.stamp, Frozen(0, shared.agent, shared.forget, shared.history[-1]), NO_VALUE)
        yield _acknowledged(f"{name} caches {bundle}", put(shared, bundle, rules=rules), writer)


def put(shared: Shared, bundle: Bundle, *, rules: Rules) -> Shared:
    """Return what is shared after `WarmStore.put`."""
    if shared.given:
        # The generation of a record decides on replacing it in the records; in a bundle it tells nothing.
        plain = bundle._replace(frozen=bundle.frozen._replace(generation=0))
        return shared._replace(given=shared.given | {plain})
    if rules.put == "not_older" and shared.slot.stamp.order > bundle.stamp.order:
        return shared
    return shared._replace(slot=bundle)


def _with_row(shared: Shared, act: Act) -> Shared:
    value = NO_VALUE if act is Act.DELETE else len(shared.history)
    return shared._replace(history=(*shared.history, value))


def _with_counters(shared: Shared, act: Act, rules: Rules) -> Shared:
    forgets = act is Act.DELETE and rules.deletion == "rebuilds"
    return shared._replace(pref=shared.pref + 1, forget=shared.forget + forgets)


def _acknowledged(label: str, shared: Shared, writer: Writer) -> Wrote:
    return Wrote(label, shared._replace(acked=max(shared.acked, writer.row)), writer._replace(left=0))
