"""The build of the third-party layer."""

import os
import stat
import zipfile
from pathlib import Path

import pytest

from infra import layers

# Stands for uv: answers as it does, with one package in the folder behind --target, and notes that it was called.
_UV = """#!/bin/sh
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/numpy/__pycache__" "$2/bin"
echo x > "$2/numpy/__init__.py"; echo x > "$2/numpy/__pycache__/a.pyc"; echo x > "$2/bin/f2py"
echo called >> "{calls}"
exit {code}
"""


def _uv(folder: Path, *, code: int = 0) -> Path:
    uv = folder / "uv"
    uv.write_text(_UV.format(calls=folder / "calls", code=code), encoding="utf-8")
    uv.chmod(uv.stat().st_mode | stat.S_IXUSR)
    return uv


def test_build__zip_has_the_layout_of_a_layer_and_no_litter(tmp_path: Path) -> None:
    archive = layers.build(tmp_path / "built", uv=str(_uv(tmp_path)))
    assert zipfile.ZipFile(archive).namelist() == ["python/numpy/__init__.py"]


def test_build__what_is_there_is_not_built_again(tmp_path: Path) -> None:
    uv = str(_uv(tmp_path))
    first = layers.build(tmp_path / "built", uv=uv)
    second = layers.build(tmp_path / "built", uv=uv)
    assert second == first
    assert (tmp_path / "calls").read_text(encoding="utf-8").count("called") == 1


def test_build__failure_of_uv_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(layers.LayerError, match="uv could not install"):
        layers.build(tmp_path / "built", uv=str(_uv(tmp_path, code=1)))
    assert list((tmp_path / "built").iterdir()) == []


def test_pack__same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    (packages / "b").mkdir(parents=True)
    (packages / "b" / "one.py").write_text("1", encoding="utf-8")
    (packages / "a.py").write_text("2", encoding="utf-8")
    layers.pack(packages, tmp_path / "first.zip")
    os.utime(packages / "a.py", (1, 1))
    layers.pack(packages, tmp_path / "second.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_pack__more_than_lambda_takes_is_refused(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "large.bin").write_bytes(bytes(11))
    with pytest.raises(layers.LayerError, match="11 bytes unzipped, Lambda leaves room for 10"):
        layers.pack(packages, tmp_path / "layer.zip", max_bytes=10)


def test_requirements__every_package_is_pinned_by_hash() -> None:
    lines = layers.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    packages = [number for number, line in enumerate(lines) if line and not line.startswith((" ", "#", "--"))]
    assert packages
    assert all("==" in lines[number] and "--hash=sha256:" in lines[number + 1] for number in packages)
