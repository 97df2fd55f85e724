"""`preheat demo` before and after its run: options, bad files, what is printed and how it ends."""

from pathlib import Path

import pytest

from infra.local.cli import main
from infra.local.commands.demo import read_sizes
from infra.local.commands.failures import BadUseError


def test_read_sizes__keeps_the_order() -> None:
    assert read_sizes("2048, 512") == (2048, 512)


@pytest.mark.parametrize("text", ["", "512,", "many", "-512", "255", "32769", "512;1024"])
def test_read_sizes__names_what_is_no_size(text: str) -> None:
    with pytest.raises(BadUseError, match="--prefix: "):
        read_sizes(text)


@pytest.mark.parametrize("option", ["--tools", "--history"])
def test_demo__an_unreadable_file_is_one_line_and_exit_code_2(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text('{"role": "user"\n', encoding="utf-8")
    with pytest.raises(SystemExit) as caught:
        main(["demo", option, str(tmp_path / "file"), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert (caught.value.code, said.count("\n")) == (2, 1)
    assert said.startswith(f"preheat: {tmp_path / 'file'}: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--prefix", "12"], "--prefix: '12' is not a number"),
        (["--model", "none.gguf"], "--model: there is no file none.gguf"),
        (["--endpoint", "localhost:8000"], "--endpoint: localhost:8000 is no http or https URL"),
        (["--pairs", "0"], "--pairs"),
    ],
)
def test_demo__a_bad_option_is_exit_code_2(options: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["demo", *options])
    assert caught.value.code == 2
    assert fault in capsys.readouterr().err
