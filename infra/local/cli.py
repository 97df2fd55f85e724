"""The `preheat` command: puts the commands together and nothing else."""

import sys
from collections.abc import Sequence

import typer

from infra.local.commands.demo import demo
from infra.local.commands.env import env
from infra.local.commands.token import token
from infra.local.commands.up import up

app = typer.Typer(
    name="preheat",
    help="Preheat on one machine: no cloud account, no Docker.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command()(up)
app.command()(token)
app.command()(env)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, the process's own by default, and exit with its code.

    Raises:
        SystemExit: always; 0 when all went well, 2 when the use was wrong.
    """
    try:
        code = app(args=arguments, prog_name="preheat", standalone_mode=False)
    except typer.TyperException as error:
        sys.stderr.write(f"preheat: {error.format_message()}\n")
        sys.exit(error.exit_code)
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
