"""The pause as bars, for the terminal: both sides of every size on one scale, and the warm side enlarged."""

from collections.abc import Sequence

from rich.text import Text

from infra.local.demo.answers import Answer
from infra.local.demo.pairs import Pair, summarise, typical
from infra.local.demo.phases import PHASES, segments
from infra.local.demo.wording import duration, times

_BLOCK = "█"
_LABEL_WIDTH = 16


def waterfall(pairs: Sequence[Pair], *, width: int) -> list[Text]:
    """Return the lines of the picture.

    Args:
        pairs: All pairs of the run, at least one.
        width: Columns that the longest bar may take.
    """
    summaries = summarise(pairs)
    cold = {one.wanted_tokens: typical(pairs, one.wanted_tokens, "cold") for one in summaries}
    warm = {one.wanted_tokens: typical(pairs, one.wanted_tokens, "warm") for one in summaries}
    longest = max(answer.ttft_ms for answer in (*cold.values(), *warm.values()))
    longest_warm = max(answer.ttft_ms for answer in warm.values())
    lines = [Text("Where the pause went, from submit to the first token", style="bold"), _legend(), Text()]
    for one in summaries:
        for label, answer, note in (
            (f"{one.prefix_tokens:>6,} cold", cold[one.wanted_tokens], ""),
            (f"{'warm':>11}", warm[one.wanted_tokens], f", {times(one.ratio)} times sooner"),
        ):
            lines.append(_line(label, answer, scale=width / longest, note=note))
    enlarged = longest / longest_warm
    lines += [Text(), Text(f"The warm side again, {times(enlarged)} times larger", style="bold")]
    lines += [
        _line(f"{one.prefix_tokens:>6,} warm", warm[one.wanted_tokens], scale=width / longest_warm, note="")
        for one in summaries
    ]
    return lines


def cells(parts: Sequence[float], scale: float) -> list[int]:
    """Return how many columns each part takes, so that they end where their sum ends; at least one in all.

    Args:
        parts: Milliseconds, in order.
        scale: Columns a millisecond.
    """
    taken, end, total = [], 0.0, 0
    for part in parts:
        end += part * scale
        taken.append(max(0, round(end) - total))
        total += taken[-1]
    if total == 0 and parts:
        taken[max(range(len(parts)), key=parts.__getitem__)] = 1
    return taken


def _line(label: str, answer: Answer, *, scale: float, note: str) -> Text:
    parts = segments(answer)
    line = Text(f"{label:<{_LABEL_WIDTH}}")
    for part, columns in zip(parts, cells([part.ms for part in parts], scale), strict=True):
        line.append(_BLOCK * columns, style=part.phase.dark_colour)
    line.append(f" {duration(answer.ttft_ms)}", style="bold")
    line.append(note, style="bold green")
    return line


def _legend() -> Text:
    line = Text()
    for phase in PHASES:
        line.append(f"{_BLOCK} ", style=phase.dark_colour)
        line.append(f"{phase.name}  ", style="dim")
    return line
