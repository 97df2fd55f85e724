"""The README's commands exist, its paths exist, and what it says of folders is so."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.partition("#")[0].strip() for block in BLOCKS for line in block.splitlines()]


@pytest.mark.parametrize("command", sorted({one for one in COMMANDS if one.startswith("make ")}))
def test_readme__make_targets_exist(command: str) -> None:
    words = ["make", "--dry-run", *command.split()[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)  # our own README

    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("command", sorted({one for one in COMMANDS if one.startswith(".venv/bin/preheat ")}))
def test_readme__preheat_commands_run(command: str) -> None:
    done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, check=False)  # our own README

    assert done.returncode == 0, done.stderr.decode()
    options = re.findall(rf"`?{re.escape(command)}\s+# (.*)", README)
    for option in re.findall(r"--[a-z-]+", " ".join(options)):
        assert option in done.stdout.decode()


def test_readme__paths_exist() -> None:
    named = set(re.findall(r"`((?:functions|layers|infra|events|tests|preheat)/[\w./]*)`", README))
    named |= set(re.findall(r"\]\(((?!http)[^)#]+)\)", README))
    homes = (ROOT, ROOT / "layers" / "preheat" / "python")

    assert len(named) > 10
    assert [name for name in sorted(named) if not any((home / name).exists() for home in homes)] == []


def test_readme__shows_what_the_demo_measured() -> None:
    measured = README.partition("<!-- measured:begin -->")[2].partition("<!-- measured:end -->")[0]

    assert "| cold |" in measured
    assert "| warm |" in measured


def test_readme__top_level_holds_only_what_it_should() -> None:
    words = ["git", "ls-files"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True, text=True).stdout  # fixed
    top = {line.partition("/")[0] for line in listed.splitlines()}

    visible = {name for name in top if not name.startswith(".")}
    assert visible <= {"README.md", "pyproject.toml", "Makefile", "functions", "infra", "layers", "tests", "events"}
