"""The calls that the README shows, run as they stand against a running stack."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from infra.local.stack import Stack

README = (Path(__file__).parent.parent.parent / "README.md").read_text()


@pytest.mark.timeout(300)
def test_readme__calls_answer_as_they_stand(stack: Stack) -> None:
    block = next(one for one in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "chat/completions" in one)
    calls = "\n".join(line for line in block.splitlines() if not line.startswith("eval "))
    variables = {
        "GATEWAY": stack.urls["gateway"],
        "SERVICE": stack.token("acme", "app", service=True),
        "USER_TOKEN": stack.token("acme", "ada"),
    }

    words = ["bash", "-e", "-c", calls.replace("\ncurl", "\necho; curl")]
    done = subprocess.run(  # our own README
        words,
        env={**os.environ, **variables},
        capture_output=True,
        check=True,
        text=True,
    )

    lines = [line for line in done.stdout.splitlines() if line]
    agent, preference, started, shown = (json.loads(line) for line in lines[:4])
    assert (agent["agent_ver"], preference["pref_ver"], started["state"]) == (1, 1, "warming")
    assert shown["state"] in {"warming", "warm"}
    assert lines[-1] == "data: [DONE]"
    last = json.loads(lines[-2].removeprefix("data: "))
    assert last["preheat"]["stamp"] == "a1.c1.f0.p1.h0"
    assert last["usage"]["prompt_tokens"] > 0
