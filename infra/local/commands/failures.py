"""How a command ends other than well: one line on standard error and an exit code, never a traceback."""

import typer


class BadUseError(typer.TyperException):
    """The command cannot be used like this, here or now. The message is one line."""

    exit_code = 2


class CommandFailedError(typer.TyperException):
    """The command was used well and did not succeed. The message may have several lines."""

    exit_code = 1
