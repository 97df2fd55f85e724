"""Writing the schemas leaves the folder with them and nothing stale."""

from pathlib import Path

from infra.local.schemas import build_schemas, write_schemas


def test_write_schemas__makes_the_folder_and_is_the_same_a_second_time(tmp_path: Path) -> None:
    folder = tmp_path / "events" / "schemas"

    for _ in range(2):
        write_schemas(folder)
        assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == build_schemas()


def test_write_schemas__removes_a_schema_whose_model_is_gone_and_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    (tmp_path / "README.md").write_text("kept")

    write_schemas(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {*build_schemas(), "README.md"}
