"""Same rows, same bytes, whoever builds the bundle, from what and when; a running session's prefix only grows."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from preheat.budget import count_tokens
from preheat.bundle import Bundle
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.prefill import prefix_messages, prefix_sha256
from preheat.renewal import with_appended, with_corrections, with_turns
from preheat.session import SessionId
from preheat.stored import dump_bundle, load_bundle
from preheat.tools import Tool
from tests.preheat.material import (
    NOW,
    SESSION,
    Rows,
    agent,
    answer_body,
    assemble,
    assistant,
    build,
    catalogs,
    exchange_of_turns,
    few,
    freeze,
    logs,
    numbered,
    preference_sets,
    prefill_body,
    section,
    texts,
    user,
)


def bytes_of(bundle: Bundle) -> tuple[bytes, bytes]:
    return prefill_body(bundle), answer_body(bundle)


def undated(bundle: Bundle) -> tuple[object, ...]:
    """Everything about the sections but when they were built."""
    return tuple(replace(one, built_at=0.0) for one in bundle.sections)


@few
@given(catalogs(), preference_sets(), logs(), st.randoms(use_true_random=False))
def test_build__rows_in_any_order_give_the_same_bytes(
    catalog: tuple[Tool, ...], current: tuple[Preference, ...], turns: tuple[Turn, ...], random: Random
) -> None:
    core = (catalog[0].name,)
    rows = Rows(agent(catalog, core_tools=core), current, turns)
    shuffled = Rows(
        agent(random.sample(catalog, len(catalog)), core_tools=core),
        tuple(random.sample(current, len(current))),
        turns,
    )

    assert bytes_of(build(shuffled)) == bytes_of(build(rows))


@few
@given(preference_sets(), logs(), preference_sets(), st.data())
def test_warm_path_and_cold_path__give_the_same_bytes_at_equal_versions(
    current: tuple[Preference, ...], turns: tuple[Turn, ...], changed: tuple[Preference, ...], data: st.DataObject
) -> None:
    before = Rows(agent(), current, turns)
    stored = dump_bundle(build(before))
    session = data.draw(st.sampled_from([SESSION, SessionId("other")]))
    said = numbered(data.draw(exchange_of_turns(session)), after=len(turns))
    merged = {one.key: one for one in (*current, *changed)}
    after = Rows(agent(), tuple(merged.values()), (*turns, *said))

    found = load_bundle(stored)
    window = [turn for turn in after.turns if turn.seq >= found.frozen.first_seq]
    warm = with_turns(
        with_corrections(found, after.stamp, current=after.current),
        after.stamp,
        session=SESSION,
        turns=window,
        count=count_tokens,
        now=NOW + 9,
    )
    cold = assemble(after, found.frozen, now=NOW + 60)

    assert warm.stamp == cold.stamp
    assert bytes_of(warm) == bytes_of(cold)
    assert warm.corrections == cold.corrections
    assert warm.tokens == cold.tokens


@few
@given(preference_sets(), logs(), st.lists(st.tuples(texts, texts.filter(bool)), min_size=1, max_size=3))
def test_with_appended__gives_what_with_turns_gives_for_plain_exchanges(
    current: tuple[Preference, ...], turns: tuple[Turn, ...], said: list[tuple[str, str]]
) -> None:
    rows = Rows(agent(), current, turns)
    grown = rebuilt = build(rows)
    log = turns
    for asked, answered in said:
        new = numbered([user(0, asked, session=SESSION), assistant(0, answered, session=SESSION)], after=len(log))
        log = (*log, *new)
        stamp = replace(rows.stamp, hist_seq=len(log))
        grown = with_appended(grown, stamp, turns=new, count=count_tokens, now=NOW)
    window = [turn for turn in log if turn.seq >= rebuilt.frozen.first_seq]
    rebuilt = with_turns(rebuilt, grown.stamp, session=SESSION, turns=window, count=count_tokens, now=NOW)

    assert grown == rebuilt


@few
@given(logs(), st.lists(exchange_of_turns(SESSION), min_size=1, max_size=3))
def test_window__of_a_running_session_only_grows(turns: tuple[Turn, ...], said: list[list[Turn]]) -> None:
    rows = Rows(agent(), turns=turns)
    frozen = freeze(rows)
    before = prefix_messages(assemble(rows, frozen))
    for exchange in said:
        rows = replace(rows, turns=(*rows.turns, *numbered(exchange, after=len(rows.turns))))
        after = prefix_messages(assemble(rows, frozen))

        assert after[: len(before)] == before
        before = after


@few
@given(logs(), logs(most=3))
def test_window__turns_of_other_sessions_do_not_enter_a_running_one(
    turns: tuple[Turn, ...], elsewhere: tuple[Turn, ...]
) -> None:
    rows = Rows(agent(), turns=turns)
    frozen = freeze(rows)
    busy = replace(rows, turns=(*turns, *numbered(elsewhere, after=len(turns))))

    assert bytes_of(assemble(busy, frozen)) == bytes_of(assemble(rows, frozen))


@few
@given(preference_sets(), logs(), st.floats(1, 1e6))
def test_build__the_wall_clock_is_in_no_byte(
    current: tuple[Preference, ...], turns: tuple[Turn, ...], later: float
) -> None:
    rows = Rows(agent(), current, turns)

    assert bytes_of(build(rows, now=NOW + later)) == bytes_of(build(rows))
    assert undated(build(rows, now=NOW + later)) == undated(build(rows))


@few
@given(preference_sets(), logs())
def test_build__a_session_id_is_in_no_byte(current: tuple[Preference, ...], turns: tuple[Turn, ...]) -> None:
    rows = Rows(agent(), current, turns)

    assert bytes_of(build(rows, session=SessionId("9f31-2026-12-01"))) == bytes_of(build(rows))


@few
@given(preference_sets(), preference_sets())
def test_build__two_users_share_the_agents_part_and_no_more(
    one: tuple[Preference, ...], other: tuple[Preference, ...]
) -> None:
    mine, theirs = (build(Rows(agent(), current)) for current in (one, other))
    shared = [section(mine, "core_tools").content, section(mine, "instructions").content]

    head = str(prefix_messages(mine)[0]["content"]).partition("# More tools")[0]
    assert all(content in head for content in shared)
    assert str(prefix_messages(theirs)[0]["content"]).startswith(head)
    same = [(c.key, repr(c.value)) for c in one] == [(c.key, repr(c.value)) for c in other]
    assert (prefix_sha256(mine) == prefix_sha256(theirs)) == same
