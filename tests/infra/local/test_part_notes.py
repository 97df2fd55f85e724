"""What `preheat up` says of its parts."""

from pathlib import Path

from infra.local.part_notes import part_notes
from infra.local.parts import AWS, CACHE, MODEL, StackOptions


def test_part_notes__say_what_stands_in_for_what(tmp_path: Path) -> None:
    notes = part_notes(StackOptions(state_dir=tmp_path), cache_version="9.9.9")
    assert notes[AWS].startswith("moto 5")
    assert "Valkey 9.9.9" in notes[CACHE]
    assert "SmolLM2-135M-Instruct" in notes[MODEL]
    assert "stands in for SageMaker" in notes[MODEL]
    assert "ceiling" not in notes[MODEL]


def test_part_notes__name_the_own_model_or_server(tmp_path: Path) -> None:
    own = part_notes(StackOptions(state_dir=tmp_path, model=Path("/models/own.gguf")), cache_version="9")
    assert "own.gguf" in own[MODEL]
    assert "SmolLM2" not in own[MODEL]
    assert "careful ceiling" in own[MODEL]
    elsewhere = part_notes(StackOptions(state_dir=tmp_path, endpoint="http://host:8000"), cache_version="9")
    assert "http://host:8000" in elsewhere[MODEL]
