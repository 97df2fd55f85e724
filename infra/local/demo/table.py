"""The run as one table, and its checks: for the terminal. The parts of the pause add up downwards, like a bill."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from infra.local.demo.answers import Answer
from infra.local.demo.checks import Check
from infra.local.demo.pairs import Pair, Side, SizeSummary, summarise, typical
from infra.local.demo.phases import PHASES, segments
from infra.local.demo.wording import milliseconds, times


@dataclass(frozen=True, slots=True)
class Column:
    """One side of one size: its answer with the median time, and the medians of the size."""

    side: Side
    summary: SizeSummary
    answer: Answer


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what it counts, one text for each column, and whether it is a part, the sum, or beside it."""

    name: str
    cells: tuple[str, ...]
    kind: Literal["part", "sum", "beside"]


def columns(pairs: Sequence[Pair]) -> list[Column]:
    """Return cold and warm of every size, smallest first."""
    return [
        Column(side, summary, typical(pairs, summary.wanted_tokens, side))
        for summary in summarise(pairs)
        for side in ("cold", "warm")
    ]


def rows(shown: Sequence[Column]) -> list[Row]:
    """Return the lines. Times are in milliseconds; the parts add up to the first token."""
    parts = [segments(column.answer) for column in shown]
    return [
        *(
            Row(phase.name, tuple(milliseconds(part[number].ms) for part in parts), "part")
            for number, phase in enumerate(PHASES)
        ),
        Row("first token", tuple(milliseconds(column.answer.ttft_ms) for column in shown), "sum"),
        Row("times sooner", tuple(_sooner(column) for column in shown), "sum"),
        Row("tokens warmed", tuple(_warmed(column) for column in shown), "beside"),
        Row("tokens reused", tuple(_reused(column) for column in shown), "beside"),
        Row("then, decode", tuple(milliseconds(column.answer.block.ms.decode) for column in shown), "beside"),
    ]


def _sooner(column: Column) -> str:
    return times(column.summary.ratio) if column.side == "warm" else ""


def _warmed(column: Column) -> str:
    return f"{column.summary.warmed_tokens:,}" if column.side == "warm" else "0"


def _reused(column: Column) -> str:
    summary = column.summary
    return f"{summary.reused_tokens if column.side == 'warm' else summary.cold_reused_tokens:,}"


def result_table(pairs: Sequence[Pair]) -> Table:
    """Return the table of the run."""
    table = Table(
        title="Time to the first token from submit, in ms (medians)",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )
    shown = columns(pairs)
    table.add_column("prefix tokens\n", no_wrap=True)
    for column in shown:
        warm = column.side == "warm"
        size = "" if warm else f"{column.summary.prefix_tokens:,}"
        table.add_column(f"{size}\n{column.side}", justify="right", no_wrap=True, style="bold" if warm else "")
    for row in rows(shown):
        table.add_row(row.name, *row.cells, style={"part": "", "sum": "yellow", "beside": "dim"}[row.kind])
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
