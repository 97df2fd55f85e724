"""Build the layer of third-party packages: `python -m infra.layers` prints the path of its zip.

The packages are those of `layers/dependencies/requirements.txt`, checked by hash, taken as wheels for Lambda's own
platform, so neither Docker nor an arm64 machine is needed. The zip's name holds the hash of all that goes into it; when
it is there already it is not built again. Its bytes are the same wherever it is built.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = _ROOT / "layers" / "dependencies" / "requirements.txt"
BUILT = _ROOT / ".build" / "layers"
PYTHON_VERSION = "3.14"
PLATFORM = "aarch64-manylinux_2_28"
# Lambda takes 250 MB for the code and all layers together; the function and `preheat` need next to nothing.
MAX_UNZIPPED_BYTES = 220 * 1024 * 1024

# Nothing reads these at run time: another interpreter's compiled files, and the packages' command-line scripts.
_PRUNED_FOLDERS = frozenset({"__pycache__"})
_PRUNED_AT_THE_TOP = frozenset({"bin"})
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o644 << 16


class LayerError(RuntimeError):
    """The layer cannot be built; the message says what to do, in one line."""


def source_hash() -> str:
    """Return the hash of all that decides what is in the layer (64 hex digits)."""
    recipe = f"{PYTHON_VERSION} {PLATFORM} {sorted(_PRUNED_FOLDERS)} {sorted(_PRUNED_AT_THE_TOP)}\n"
    return hashlib.sha256(recipe.encode() + REQUIREMENTS.read_bytes()).hexdigest()


def build(folder: Path, *, uv: str) -> Path:
    """Return the layer's zip in `folder`, built by the uv at path `uv` unless it is there.

    Raises:
        LayerError: a wheel is missing or has another hash, or the layer is too large.
    """
    archive = folder / f"dependencies-{source_hash()[:16]}.zip"
    if archive.is_file():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        packages = Path(scratch) / "python"
        _install(packages, uv=uv)
        partial = Path(scratch) / archive.name
        pack(packages, partial)
        partial.replace(archive)
    return archive


def pack(packages: Path, archive: Path, *, max_bytes: int = MAX_UNZIPPED_BYTES) -> None:
    """Write what a function needs of `packages` into `archive`, below `python/`, in a fixed order with a fixed date.

    Raises:
        LayerError: the packages have more than `max_bytes`, unzipped.
    """
    size_bytes = 0
    with zipfile.ZipFile(archive, "w", compression=zipfile.ZIP_DEFLATED) as output:
        for path in _kept(packages):
            content = path.read_bytes()
            size_bytes += len(content)
            entry = zipfile.ZipInfo(f"python/{path.relative_to(packages).as_posix()}", date_time=_ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _FILE_MODE
            output.writestr(entry, content)
    if size_bytes > max_bytes:
        raise LayerError(f"the layer has {size_bytes} bytes unzipped, Lambda leaves room for {max_bytes}")


def find_uv() -> str:
    """Return the path of uv: on the PATH, or where `make setup` puts it.

    Raises:
        LayerError: there is none.
    """
    found = shutil.which("uv") or shutil.which("uv", path=str(_ROOT / ".build" / "uv" / "bin"))
    if found is None:
        raise LayerError("uv is not here: run `make setup` first")
    return found


def _install(packages: Path, *, uv: str) -> None:
    command = [uv, "pip", "install", "--quiet", "--target", str(packages)]
    command += ["--python-platform", PLATFORM, "--python-version", PYTHON_VERSION]
    command += ["--only-binary", ":all:", "--no-deps", "--require-hashes", "--requirements", str(REQUIREMENTS)]
    # uv's own words go to stderr, which the CDK shows when the command fails; stdout is for the path alone.
    ended = subprocess.run(command, stdout=sys.stderr, check=False)  # noqa: S603  # the command is spelled out above
    if ended.returncode != 0:
        raise LayerError("uv could not install the dependencies for Lambda; its message is above")


def _kept(packages: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(packages):
        pruned = _PRUNED_FOLDERS | _PRUNED_AT_THE_TOP if Path(folder) == packages else _PRUNED_FOLDERS
        folders[:] = sorted(set(folders) - pruned)
        for name in sorted(files):
            yield Path(folder) / name


def main() -> int:
    """Build the layer and print the path of its zip; the exit code is 1 when it cannot be built."""
    try:
        archive = build(BUILT, uv=find_uv())
    except LayerError as error:
        sys.stderr.write(f"infra.layers: {error}\n")
        return 1
    sys.stdout.write(f"{archive}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
