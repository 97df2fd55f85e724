"""The report as one HTML page that needs nothing else: style and pictures are inside, light and dark, wide and slim."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final

from infra.local.demo import drawing
from infra.local.demo.pairs import Pair, SizeSummary
from infra.local.demo.phases import PHASES
from infra.local.demo.results import DemoResult
from infra.local.demo.table import columns, rows
from infra.local.demo.wording import TIMES_SIGN, count, duration, milliseconds, times

_STYLE: Final = Path(__file__).with_name("page.css")
_SECTION_WORDS: Final = {
    "core_tools": "core tools",
    "instructions": "instructions",
    "session_tools": "predicted tools",
    "preferences": "preferences",
    "recent_turns": "recent turns",
}


def page(result: DemoResult) -> str:
    """Return the whole document. Every text that comes from data is escaped."""
    best = max(result.summaries, key=lambda one: one.wanted_tokens)
    headline = f"The first token came <em>{times(best.ratio)} times</em> sooner"
    body = "".join(
        (
            _top(result),
            f"<h1>{headline}</h1>",
            _lead(result, best),
            _figures(result.summaries),
            _pause(result.pairs),
            _curve(result.pairs),
            _split(result.pairs),
            _bundles(result.pairs, result.summaries),
            _freshness(result),
            _outage(result),
            _checks(result),
            _footer(result),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Preheat: {times(best.ratio)} times sooner</title>"
        f"<style>{_STYLE.read_text(encoding='utf-8')}{_phase_colours()}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _phase_colours() -> str:
    """Return the style of the phases, on light and on dark ground."""
    light = "".join(f"--{one.name}:{one.colour};" for one in PHASES)
    dark = "".join(f"--{one.name}:{one.dark_colour};" for one in PHASES)
    rules = "".join(
        f"svg .p-{one.name}{{fill:var(--{one.name})}}i.p-{one.name}{{background:var(--{one.name})}}" for one in PHASES
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{rules}"


def _top(result: DemoResult) -> str:
    failed = [check for check in result.checks if not check.held]
    total = count(len(result.checks), "check")
    state = f"{len(failed)} of {total} failed" if failed else f"all {total} held"
    css = "failed" if failed else "held"
    return (
        '<div class="top"><span><span class="brand">Preheat</span> · '
        f'{escape(result.started_at[:16].replace("T", " "))}</span><span class="pill {css}">{state}</span></div>'
    )


def _lead(result: DemoResult, best: SizeSummary) -> str:
    data = result.data
    return (
        f'<p class="lead">At {best.prefix_tokens:,} prefix tokens a user waits {duration(best.warm_ms)} instead of '
        f"{duration(best.cold_ms)}, from submit to the first token: the same question on the same data, asked of a "
        "session that was warmed when it started and of a twin that was not. "
        f"{escape(data.source)}: {data.tools} tools, {data.turns} turns, {data.preferences} preferences.</p>"
    )


def _figures(summaries: Sequence[SizeSummary]) -> str:
    cards = "".join(
        f"<div><b>{times(one.ratio)}{TIMES_SIGN} <small>sooner</small></b>"
        f'<span class="from">{duration(one.cold_ms)}</span> → <span class="to">{duration(one.warm_ms)}</span><br>'
        f'<span class="soft">{one.prefix_tokens:,} tokens, {one.reused_tokens:,} of {one.warmed_tokens:,} reused, '
        f"{count(one.pairs, 'pair')}</span></div>"
        for one in summaries
    )
    return f'<div class="figures">{cards}</div>'


def _pause(pairs: Sequence[Pair]) -> str:
    legend = _legend((f"p-{one.name}", one.name, one.what) for one in PHASES)
    larger = times(drawing.enlargement(pairs))
    return _section(
        "Where the pause went",
        f"From the user's submit to the first token; the median answer of each side.{legend}",
        drawing.pause_bars(pairs),
        f'<p class="soft" style="margin:18px 0 0">The warm side again, {larger} times larger:</p>',
        drawing.warm_bars(pairs),
    )


def _curve(pairs: Sequence[Pair]) -> str:
    if len({pair.wanted_tokens for pair in pairs}) == 1:
        return ""
    return _section(
        "The longer the prefix, the more there is to gain",
        "Time to the first token over prefix tokens, both scales logarithmic. Dots are answers, lines the medians.",
        drawing.curve(pairs),
    )


def _split(pairs: Sequence[Pair]) -> str:
    shown = columns(pairs)
    sizes = "".join(
        f'<th colspan="2">{column.summary.prefix_tokens:,}</th>' for column in shown if column.side == "cold"
    )
    sides = "".join(f'<th class="{column.side}">{column.side}</th>' for column in shown)
    lines = "".join(
        f'<tr class="{row.kind}"><td>{escape(row.name)}</td>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row.cells)
        + "</tr>"
        for row in rows(shown)
    )
    return _section(
        "The same, in milliseconds",
        "By prefix tokens; the parts add up to the first token. Rows are read from moto, an emulator.",
        f'<div class="scroll"><table><thead><tr><th></th>{sizes}</tr><tr><th></th>{sides}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>",
    )


def _bundles(pairs: Sequence[Pair], summaries: Sequence[SizeSummary]) -> str:
    bundles = [
        (
            f"{one.prefix_tokens:,}",
            next(pair.sections for pair in pairs if pair.wanted_tokens == one.wanted_tokens),
        )
        for one in summaries
    ]
    present = {section.name for _, sections in bundles for section in sections}
    legend = _legend((f"s-{name}", words, "") for name, words in _SECTION_WORDS.items() if name in present)
    return _section(
        "What was read ahead",
        f"The sections of each prefix, most stable first, so that what is shared is a shared prefix.{legend}",
        drawing.section_bars(bundles),
    )


def _freshness(result: DemoResult) -> str:
    seen = result.freshness
    block = seen.answer.block
    return _section(
        "Warm, and never out of date",
        f"{escape(seen.key)} changed after the warm-up, and the question came at once. The engine was asked to read:",
        f"<blockquote>{escape(seen.line or 'nothing of it')}</blockquote>",
        _steps(
            ("warmed at", seen.stamp_before),
            ("answered at", block.stamp),
            ("state", block.state),
            ("of the warm prefix", f"{block.reused_tokens:,} of {seen.warmed_tokens:,} tokens reused"),
        ),
    )


def _outage(result: DemoResult) -> str:
    during, after = result.outage.during, result.outage.after
    reasons = ", ".join(during.block.reasons)
    return _section(
        "Valkey killed",
        "The cache was killed under the running session, and started again.",
        _steps(
            ("while it was dead", f"{during.block.state}: {reasons}" if reasons else during.block.state),
            ("first token then", f"{milliseconds(during.ttft_ms)} ms, {during.block.reused_tokens:,} tokens reused"),
            ("after its return", f"{after.block.state}, {result.outage.recovered_s:.1f} s later"),
        ),
    )


def _checks(result: DemoResult) -> str:
    lines = "".join(
        f'<li class="{"held" if check.held else "failed"}"><span class="mark">{"✓" if check.held else "✗"}</span>'
        f'<span>{escape(check.name)}<span class="seen">{escape(check.seen)}</span></span></li>'
        for check in result.checks
    )
    return _section("What had to hold", "", f'<ul class="checks">{lines}</ul>')


def _footer(result: DemoResult) -> str:
    machine, engine = result.machine, result.engine
    lacks = f" It lacks, against the engine in the cloud: {escape('; '.join(engine.lacks))}." if engine.lacks else ""
    where = f"{escape(machine.system)}, {count(machine.cores, 'core')}, Python {escape(machine.python)}"
    return (
        f"<footer><p>How it was measured: on one machine ({where}) in {duration(result.took_s * 1000)}, with the start "
        "and stop of the stack. Every side of every pair had a tenant of its own that nobody had used before, so the "
        f"two shared nothing in the engine beyond the chat template's {engine.template_tokens} first tokens; the sides "
        "took turns in going first. Times are the HTTP client's. Reused tokens are the engine's own count.</p>"
        f"<p>Engine: {escape(engine.model)}.{lacks} Seed {escape(result.seed)}.</p></footer>"
    )


def _section(title: str, words: str, *parts: str) -> str:
    said = f'<div class="soft">{words}</div>' if words else ""
    return f"<section><h2>{title}</h2>{said}{''.join(parts)}</section>"


def _legend(entries: Iterable[tuple[str, str, str]]) -> str:
    shown = "".join(
        f'<li title="{escape(what)}"><i class="{css}"></i>{escape(name)}</li>' for css, name, what in entries
    )
    return f'<ul class="legend">{shown}</ul>'


def _steps(*steps: tuple[str, str]) -> str:
    shown = "".join(f'<li><span class="soft">{escape(name)}</span><b>{escape(what)}</b></li>' for name, what in steps)
    return f'<ul class="steps">{shown}</ul>'
