"""The command line as a whole."""

import pytest

from infra.local.cli import main


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    return exited.value.code


def test_help__names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert "up " in shown
    assert "token " in shown


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Missing command"),
        (("sideways",), "No such command 'sideways'"),
        (("up", "--sideways"), "No such option"),
        (("up", "--retry-s", "soon"), "'--retry-s'"),
        (("up", "--model", "nowhere.gguf"), "there is no file nowhere.gguf"),
        (("up", "--state-dir", "/dev/null/folder"), "Not a directory: /dev/null/folder"),
        (("up", "--endpoint", "nowhere"), "no http or https URL"),
        (("up", "--endpoint", "http://host", "--model", "x"), "exclude each other"),
    ],
)
def test_bad_use__is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], reason: str
) -> None:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("preheat: ")
    assert reason in captured.err
