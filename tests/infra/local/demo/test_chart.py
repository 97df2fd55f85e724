"""The picture for slides."""

from pathlib import Path

from infra.local.demo.chart import save_chart
from tests.infra.local.demo.runs import make_pair, make_result

PNG = b"\x89PNG\r\n\x1a\n"


def test_save_chart__writes_both_formats(tmp_path: Path) -> None:
    save_chart(make_result(), png=tmp_path / "a.png", svg=tmp_path / "a.svg")
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "The first token came 45 times sooner" in text
    assert "200 ms instead of 9.0 s" in text


def test_save_chart__one_size_is_enough(tmp_path: Path) -> None:
    save_chart(make_result(make_pair()), png=tmp_path / "a.png", svg=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 0
