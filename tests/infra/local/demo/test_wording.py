"""Numbers as people read them."""

from infra.local.demo.wording import axis_time, count, duration, milliseconds, times


def test_milliseconds__has_tenths_below_ten_only() -> None:
    assert [milliseconds(value) for value in (0.04, 9.94, 10.4, 14431.2)] == ["0.0", "9.9", "10", "14,431"]


def test_duration__changes_to_seconds_at_one() -> None:
    assert [duration(value) for value in (319.4, 999.0, 1000.0, 14431.0)] == ["319 ms", "999 ms", "1.0 s", "14.4 s"]


def test_times__has_a_tenth_below_ten_only() -> None:
    assert [times(value) for value in (2.66, 45.3)] == ["2.7", "45"]


def test_axis_time__is_as_short_as_it_can_be() -> None:
    assert [axis_time(value) for value in (0, 100, 1000, 2500)] == ["0", "100 ms", "1 s", "2.5 s"]


def test_count__minds_the_plural() -> None:
    assert [count(1, "check"), count(1200, "check")] == ["1 check", "1,200 checks"]
