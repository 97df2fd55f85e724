"""The run as one table."""

import io

from rich.console import Console

from infra.local.demo.checks import Check
from infra.local.demo.table import check_lines, columns, result_table, rows
from tests.infra.local.demo.runs import make_pair


def printed(*things: object, width: int = 140) -> str:
    console = Console(file=io.StringIO(), width=width)
    for thing in things:
        console.print(thing)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_columns__cold_and_warm_of_every_size() -> None:
    shown = columns([make_pair(2048, cold_ms=9000), make_pair(512)])
    assert [(column.summary.wanted_tokens, column.side) for column in shown] == [
        (512, "cold"),
        (512, "warm"),
        (2048, "cold"),
        (2048, "warm"),
    ]


def test_rows__say_where_the_time_went() -> None:
    made = {row.name: row.cells for row in rows(columns([make_pair(512)]))}
    assert made == {
        "http": ("2.0", "2.0"),
        "check": ("5.0", "5.0"),
        "retrieval": ("50", "0.0"),
        "tools": ("0.0", "0.0"),
        "assembly": ("1.0", "1.0"),
        "prefill": ("2,942", "192"),
        "first token": ("3,000", "200"),
        "times sooner": ("", "15"),
        "tokens warmed": ("0", "500"),
        "tokens reused": ("3", "500"),
        "then, decode": ("90", "90"),
    }


def test_result_table__four_sizes_fit_a_terminal_of_eighty_columns() -> None:
    pairs = [make_pair(512), make_pair(1024), make_pair(2048), make_pair(4096, cold_ms=39352.0, reused=4102)]
    text = printed(result_table(pairs), width=80)
    assert "39,352" in text
    assert "4,086" in text
    assert "…" not in text


def test_check_lines__mark_what_failed_and_show_what_was_seen() -> None:
    text = printed(*check_lines([Check("good", held=True, seen="1 of 1"), Check("bad", held=False, seen="[red]0")]))
    assert "✓ good  1 of 1" in text
    assert "✗ bad  [red]0" in text
