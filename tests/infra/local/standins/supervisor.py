"""`preheat up` with stand-ins for the functions and the model.

python -m tests.infra.local.standins.supervisor FOLDER
"""

import sys
from pathlib import Path

import typer

from infra.local.commands.up import run_until_stopped
from infra.local.parts import StackOptions

FUNCTIONS = "tests.infra.local.standins"
MODEL_COMMAND = (sys.executable, "-m", "tests.infra.local.standins.model_server", "{port}")


def standin_options(state_dir: Path) -> StackOptions:
    """Return options for a stack of stand-ins that delivers failed records again at once."""
    return StackOptions(
        state_dir=state_dir, functions=FUNCTIONS, model_command=MODEL_COMMAND, retry_s=0, start_timeout_s=60.0
    )


if __name__ == "__main__":
    try:
        run_until_stopped(standin_options(Path(sys.argv[1])), as_json=True)
    except typer.TyperException as error:
        sys.stderr.write(f"{error.format_message()}\n")
        sys.exit(error.exit_code)
