"""Writes a run's report: one page, one picture in two formats, and the numbers."""

import json
from collections.abc import Sequence
from pathlib import Path

from infra.local.demo.page import page
from infra.local.demo.results import DemoResult


def write_report(result: DemoResult, folder: Path, *, extra_json: Path | None) -> Sequence[Path]:
    """Write `report.html`, `report.png`, `report.svg` and `demo.json`; return the paths.

    Args:
        result: The run.
        folder: Made when missing.
        extra_json: Where the numbers go as well.

    Raises:
        OSError: a file cannot be written.
    """
    # Imported here: half a second that a run which fails need not spend.
    from infra.local.demo.chart import save_chart  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    html, png, svg, numbers = (folder / name for name in ("report.html", "report.png", "report.svg", "demo.json"))
    html.write_text(page(result), encoding="utf-8")
    save_chart(result, png=png, svg=svg)
    text = json.dumps(result.as_json(), indent=2, ensure_ascii=False) + "\n"
    numbers.write_text(text, encoding="utf-8")
    written = [html, png, svg, numbers]
    if extra_json is not None:
        extra_json.parent.mkdir(parents=True, exist_ok=True)
        extra_json.write_text(text, encoding="utf-8")
        written.append(extra_json)
    return written
