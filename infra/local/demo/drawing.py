"""The pictures of the report page, as inline SVG: colours come from the page's style sheet, so both themes fit.

Units are those of a view box `WIDTH` wide. Text grows on narrow screens by the style sheet, so every line of text has
room for letters of `LARGEST_LETTERS` units.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from infra.local.demo.answers import Answer
from infra.local.demo.pairs import Pair, Side, summarise, typical
from infra.local.demo.phases import segments
from infra.local.demo.tenant_api import SectionView
from infra.local.demo.wording import TIMES_SIGN, axis_time, duration, times

WIDTH: Final = 720
LARGEST_LETTERS: Final = 26
_LABEL_WIDTH: Final = 84
_BAR: Final = 26
_LINE: Final = 36
# A label stands behind its bar when the bar leaves this much room, else inside.
_ROOM_FOR_LABEL: Final = 130
_CURVE_HEIGHT: Final = 380
_CURVE_LEFT: Final = 108
_CURVE_RIGHT: Final = 520
_CURVE_TOP: Final = 24
_CURVE_BOTTOM: Final = 320


def pause_bars(pairs: Sequence[Pair]) -> str:
    """Return both sides of every size as bars on one scale, parted by phase."""
    summaries = summarise(pairs)
    scale = (WIDTH - _LABEL_WIDTH) / _longest_ms(pairs, "cold", "warm")
    parts: list[str] = []
    y = 0
    for one in summaries:
        parts.append(_text(0, y + 26, f"{one.prefix_tokens:,} tokens read ahead", css="strong"))
        parts.append(_text(WIDTH, y + 26, f"{times(one.ratio)}{TIMES_SIGN} sooner", css="strong gain", anchor="end"))
        y += _LINE
        cold = typical(pairs, one.wanted_tokens, "cold")
        parts += _bar(y, "cold", cold, scale)
        warm = typical(pairs, one.wanted_tokens, "warm")
        parts += _bar(y + _LINE, "warm", warm, scale)
        y += 2 * _LINE + 22
    return _svg(parts, y - 14, "Time to the first token by prefix length, cold and warm, parted by phase")


def warm_bars(pairs: Sequence[Pair]) -> str:
    """Return the warm side of every size on a scale of its own."""
    summaries = summarise(pairs)
    warm = [typical(pairs, one.wanted_tokens, "warm") for one in summaries]
    scale = (WIDTH - _LABEL_WIDTH) / _longest_ms(pairs, "warm")
    parts: list[str] = []
    for position, (one, answer) in enumerate(zip(summaries, warm, strict=True)):
        parts += _bar(position * _LINE, f"{one.prefix_tokens:,}", answer, scale)
    return _svg(parts, len(warm) * _LINE, "The warm side alone, enlarged, parted by phase")


def enlargement(pairs: Sequence[Pair]) -> float:
    """Return how many times larger `warm_bars` draws than `pause_bars`."""
    return _longest_ms(pairs, "cold", "warm") / _longest_ms(pairs, "warm")


def _longest_ms(pairs: Sequence[Pair], *sides: Side) -> float:
    sizes = [one.wanted_tokens for one in summarise(pairs)]
    return max(typical(pairs, size, side).ttft_ms for size in sizes for side in sides)


def curve(pairs: Sequence[Pair]) -> str:
    """Return time to the first token over prefix length, both axes logarithmic; a dot for each answer."""
    summaries = summarise(pairs)
    tokens = [one.prefix_tokens for one in summaries]
    times_ms = [ms for pair in pairs for ms in (pair.cold.ttft_ms, pair.warm.ttft_ms)]
    low, high = 10 ** math.floor(math.log10(min(times_ms))), 10 ** math.ceil(math.log10(max(times_ms)))

    def x_of(value: float) -> float:
        first, last = math.log(min(tokens)), math.log(max(tokens))
        share = (math.log(value) - first) / (last - first) if last > first else 0.5
        return _CURVE_LEFT + 30 + share * (_CURVE_RIGHT - _CURVE_LEFT - 30)

    def y_of(value: float) -> float:
        share = (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
        return _CURVE_BOTTOM - share * (_CURVE_BOTTOM - _CURVE_TOP)

    parts: list[str] = []
    decade = low
    while decade <= high:
        y = y_of(decade)
        parts.append(f'<line class="grid" x1="{_CURVE_LEFT}" x2="{_CURVE_RIGHT + 20}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(_CURVE_LEFT - 10, y + 6, axis_time(decade), css="axis", anchor="end"))
        decade *= 10
    parts += [_text(x_of(one), _CURVE_BOTTOM + 34, f"{one:,}", css="axis", anchor="middle") for one in tokens]
    for side in ("cold", "warm"):
        medians = [one.cold_ms if side == "cold" else one.warm_ms for one in summaries]
        points = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(tokens, medians, strict=True))
        parts.append(f'<polyline class="line {side}" points="{points}"/>')
        for pair in pairs:
            x, y = x_of(pair.prefix_tokens), y_of((pair.cold if side == "cold" else pair.warm).ttft_ms)
            parts.append(f'<circle class="dot {side}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        label = f"{side} {duration(medians[-1])}"
        parts.append(_text(x_of(tokens[-1]) + 16, y_of(medians[-1]) + 7, label, css=f"strong {side}"))
    return _svg(parts, _CURVE_HEIGHT, "Time to the first token over prefix tokens, both scales logarithmic")


def section_bars(bundles: Sequence[tuple[str, Sequence[SectionView]]]) -> str:
    """Return what each prefix is made of, in careful tokens, on one scale; each with its label."""
    longest = max(sum(section.tokens for section in sections) for _, sections in bundles)
    parts: list[str] = []
    for position, (label, sections) in enumerate(bundles):
        y, x = position * _LINE, float(_LABEL_WIDTH)
        parts.append(_text(0, y + 20, label, css="side"))
        for section in sections:
            width = section.tokens / longest * (WIDTH - _LABEL_WIDTH)
            parts.append(
                f'<rect class="s-{escape(section.name)}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}">'
                f"<title>{escape(section.name)}: {section.tokens:,} tokens, {escape(section.why)}</title></rect>"
            )
            x += width
    return _svg(parts, len(bundles) * _LINE, "What the prefixes are made of")


def _bar(y: int, label: str, answer: Answer, scale: float) -> list[str]:
    """Return a labelled bar; every part tells its name and time when it is pointed at."""
    parts = [_text(0, y + 20, label, css="side")]
    x = float(_LABEL_WIDTH)
    for segment in segments(answer):
        width = segment.ms * scale
        parts.append(
            f'<rect class="p-{segment.phase.name}" x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_BAR}">'
            f"<title>{segment.phase.name}: {segment.ms:,.1f} ms, {escape(segment.phase.what)}</title></rect>"
        )
        x += width
    if x + _ROOM_FOR_LABEL < WIDTH:
        parts.append(_text(x + 10, y + 20, duration(answer.ttft_ms), css="value"))
    else:
        parts.append(_text(x - 10, y + 20, duration(answer.ttft_ms), css="value inside", anchor="end"))
    return parts


def _text(x: float, y: float, words: str, *, css: str, anchor: str = "start") -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(parts: Sequence[str], height: float, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">'
        f"<title>{escape(label)}</title>{''.join(parts)}</svg>"
    )
