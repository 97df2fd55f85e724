"""`preheat token`."""

import os
import time
from pathlib import Path

import pytest

from infra.local.cli import main
from infra.local.state_file import StackState, write_state
from infra.local.tokens import TokenVerifier
from preheat import names

SECRET = "a-secret-of-this-stack-0123456789abcdef"


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as exited:
        main(["token", *arguments])
    return exited.value.code


def test_token__is_one_that_the_running_stack_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_state(tmp_path, StackState(pid=os.getpid(), urls={}, token_secret=SECRET))
    assert run("--tenant", "acme", "--user", "ada", "--service", "--state-dir", str(tmp_path)) == 0
    claims = TokenVerifier(SECRET).verify(f"Bearer {capsys.readouterr().out.strip()}", now=time.time())
    assert claims[names.CLAIM_TENANT] == "acme"
    assert claims[names.CLAIM_USER] == "ada"
    assert claims[names.CLAIM_ROLE] == names.ROLE_SERVICE


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Missing option '--tenant'"),
        (("--tenant", "a"), "Missing option '--user'"),
        (("--tenant", "a", "--user", ""), "must not be empty"),
        (("--tenant", "a", "--user", "b", "--ttl-s", "0"), "'--ttl-s'"),
        (("--tenant", "a", "--user", "b"), "no stack is running"),
    ],
)
def test_token__bad_use_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], reason: str
) -> None:
    assert run(*arguments, "--state-dir", str(tmp_path)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert reason in captured.err
