"""What a run leaves on disk."""

import json
from pathlib import Path

from infra.local.demo.report_files import write_report
from tests.infra.local.demo.runs import make_result


def test_write_report__makes_the_folder_and_every_file(tmp_path: Path) -> None:
    extra = tmp_path / "elsewhere" / "numbers.json"
    written = write_report(make_result(), tmp_path / "new" / "demo", extra_json=extra)
    assert [path.name for path in written] == ["report.html", "report.png", "report.svg", "demo.json", "numbers.json"]
    assert all(path.stat().st_size > 0 for path in written)
    assert json.loads(extra.read_text(encoding="utf-8")) == json.loads(json.dumps(make_result().as_json()))
