"""The run as one table, and its checks: for the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from infra.local.demo.checks import Check
from infra.local.demo.pairs import Pair, Side, SizeSummary, summarise, typical
from infra.local.demo.phases import segments
from infra.local.demo.wording import milliseconds, times

HEADINGS = (
    "prefix",
    "side",
    "1st token",
    "http",
    "check",
    "retrieval",
    "tools",
    "assembly",
    "prefill",
    "decode",
    "sooner",
    "reused/warmed",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One side of one size: texts for `HEADINGS`."""

    side: Side
    cells: tuple[str, ...]


def rows(pairs: Sequence[Pair]) -> list[Row]:
    """Return two rows per size. Times are those of the median answer, in milliseconds, and add up to its TTFT."""
    made = []
    for summary in summarise(pairs):
        made.append(_row(pairs, summary, "cold"))
        made.append(_row(pairs, summary, "warm"))
    return made


def _row(pairs: Sequence[Pair], summary: SizeSummary, side: Side) -> Row:
    answer = typical(pairs, summary.wanted_tokens, side)
    parts = [milliseconds(segment.ms) for segment in segments(answer)]
    warm = side == "warm"
    reused = summary.reused_tokens if warm else summary.cold_reused_tokens
    return Row(
        side,
        (
            "" if warm else f"{summary.prefix_tokens:,}",
            side,
            milliseconds(answer.ttft_ms),
            *parts,
            milliseconds(answer.block.ms.decode),
            f"{times(summary.ratio)}x" if warm else "",
            f"{reused:,}/{summary.warmed_tokens:,}" if warm else f"{reused:,}/0",
        ),
    )


def result_table(pairs: Sequence[Pair]) -> Table:
    """Return the table of the run."""
    table = Table(
        title="Time to the first token, from submit, in ms: the median of each size",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for name in HEADINGS:
        table.add_column(name, justify="left" if name == "side" else "right", no_wrap=True)
    for row in rows(pairs):
        warm = row.side == "warm"
        table.add_row(*row.cells, style="bold" if warm else "dim", end_section=warm)
    return table


def check_lines(checks: Sequence[Check]) -> list[Text]:
    """Return one line per check, with what was seen."""
    return [
        Text.assemble(
            (" ✓ " if check.held else " ✗ ", "bold green" if check.held else "bold red"),
            (check.name, "" if check.held else "bold"),
            (f"  {check.seen}", "dim" if check.held else "red"),
        )
        for check in checks
    ]
