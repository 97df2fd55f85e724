"""How numbers are written for people: in the table, on the page and in the charts alike."""

from typing import Final

TIMES_SIGN: Final = "\N{MULTIPLICATION SIGN}"
_SECOND_MS = 1000
_TENTHS_UNDER = 10


def milliseconds(value: float) -> str:
    """Return `0.4`, `7.3`, `319`, `14,431`: tenths below ten, none above."""
    return f"{value:.1f}" if value < _TENTHS_UNDER else f"{value:,.0f}"


def duration(value_ms: float) -> str:
    """Return `319 ms` below a second, `14.4 s` above."""
    return f"{value_ms:.0f} ms" if value_ms < _SECOND_MS else f"{value_ms / _SECOND_MS:.1f} s"


def axis_time(value_ms: float) -> str:
    """Return `0`, `100 ms`, `2 s`, `2.5 s`: a mark on an axis."""
    if value_ms == 0:
        return "0"
    return f"{value_ms:g} ms" if value_ms < _SECOND_MS else f"{value_ms / _SECOND_MS:g} s"


def times(value: float) -> str:
    """Return `9.4` or `45`: how many times."""
    return f"{value:.1f}" if value < _TENTHS_UNDER else f"{value:.0f}"


def count(number: int, noun: str) -> str:
    """Return `1 check` or `3 checks`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
