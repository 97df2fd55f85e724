"""What a running `preheat up` leaves for other commands: who it is, where its parts are, and its token secret.

Readable by its owner alone, written in one step, removed when the stack stops.
"""

import os
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

FILE_NAME: Final = "stack.json"
_OWNER_ONLY: Final = 0o600


class StackState(BaseModel):
    """The content of the file. `urls` by part; `pid` is the supervisor's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pid: int
    urls: dict[str, str]
    token_secret: str


class NoStackError(Exception):
    """No stack runs that the file tells of. The message is one line for whoever asked."""


def write_state(state_dir: Path, state: StackState) -> Path:
    """Write the file and return its path."""
    path = state_dir / FILE_NAME
    fresh = path.with_suffix(f".{state.pid}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with os.fdopen(descriptor, "w") as file:
        file.write(state.model_dump_json())
    fresh.replace(path)
    return path


def remove_state(path: Path) -> None:
    """Remove the file; it may be gone already."""
    path.unlink(missing_ok=True)


def read_state(state_dir: Path) -> StackState:
    """Return what the running stack wrote.

    Raises:
        NoStackError: there is no file, it is not readable, or the supervisor it names is gone.
    """
    path = state_dir / FILE_NAME
    try:
        state = StackState.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise NoStackError("no stack is running; start one with `preheat up`") from error
    except (OSError, ValidationError) as error:
        raise NoStackError(f"{path} is not readable; start a stack with `preheat up`") from error
    if not _is_alive(state.pid):
        raise NoStackError(f"the stack of process {state.pid} is gone; start one with `preheat up`")
    return state


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
