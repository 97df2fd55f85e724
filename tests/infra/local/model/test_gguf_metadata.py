"""The key-value pairs at the head of a GGUF file."""

import struct
from pathlib import Path

import pytest

from infra.local.model.errors import StartError
from infra.local.model.gguf import installed_gguf
from infra.local.model.gguf_metadata import read_metadata

STRING, ARRAY = 8, 9


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def gguf(*pairs: bytes, version: int = 3) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, 0, len(pairs)) + b"".join(pairs)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "x.gguf"
    path.write_bytes(content)
    return path


def test_read_metadata__every_kind_of_value(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        gguf(
            pair("name", STRING, text("Łódź 日本")),
            pair("heads", 4, struct.pack("<I", 9)),
            pair("shift", 11, struct.pack("<q", -(2**40))),
            pair("epsilon", 6, struct.pack("<f", 0.5)),
            pair("bos", 7, b"\x01"),
            pair("tokens", ARRAY, struct.pack("<IQ", STRING, 3) + text("a") + text("") + text("Ġb")),
            pair("kinds", ARRAY, struct.pack("<IQ3i", 5, 3, 1, -2, 3)),
            pair("none", ARRAY, struct.pack("<IQ", 5, 0)),
        ),
    )

    assert read_metadata(path) == {
        "name": "Łódź 日本",
        "heads": 9,
        "shift": -(2**40),
        "epsilon": 0.5,
        "bos": True,
        "tokens": ("a", "", "Ġb"),
        "kinds": (1, -2, 3),
        "none": (),
    }


def test_read_metadata__of_the_shipped_model() -> None:
    said = read_metadata(installed_gguf())

    assert said["general.license"] == "apache-2.0"
    assert said["llama.vocab_size"] == 49_152


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "cannot be read"),
        (b"GGUF", "cannot be read"),
        (b"PK\x03\x04" + bytes(20), "not a GGUF"),
        (gguf(version=1), "not a GGUF"),
        (gguf(pair("x", 99, b"")), "cannot be read"),
        (gguf(pair("x", STRING, text("whole"))[:-2]), "cannot be read"),
        (gguf(pair("x", ARRAY, struct.pack("<IQ", 5, 2**60))), "cannot be read"),
        (gguf(pair("x", STRING, struct.pack("<Q", 2) + b"\xff\xfe")), "cannot be read"),
    ],
    ids=[
        "empty",
        "cut head",
        "another format",
        "another version",
        "unknown type",
        "cut text",
        "huge array",
        "no UTF-8",
    ],
)
def test_read_metadata__what_is_no_whole_file_is_one_line(tmp_path: Path, content: bytes, fault: str) -> None:
    with pytest.raises(StartError, match=fault):
        read_metadata(written(tmp_path, content))


def test_read_metadata__missing_file(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        read_metadata(tmp_path / "none.gguf")
