"""`preheat demo`: the main job, from session start to a warm first token, against the same work cold."""

import signal
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from infra.local.commands.failures import BadUseError, CommandFailedError
from infra.local.commands.model_choice import check_choice, name_model
from infra.local.demo.demonstration import DemoOptions, new_seed, run_demo
from infra.local.demo.progress import Narrator
from infra.local.demo.report_files import write_report
from infra.local.demo.results import DemoResult
from infra.local.demo.sizing import UnreachableSizeError
from infra.local.demo.stage import NotQuietError
from infra.local.demo.table import check_lines, result_table
from infra.local.demo.tenant import sample_tenant
from infra.local.demo.tenant_api import CallFailedError, WarmUpError
from infra.local.demo.user_data import UserDataError, with_own_data
from infra.local.demo.waterfall import waterfall
from infra.local.demo.wording import count
from infra.local.parts import StackOptions
from infra.local.processes import PartFailedError
from infra.local.sample.content import load_sample

OUTPUT_DIR = Path(__file__).parents[3] / ".build" / "demo"
SIZES = "512,1024,2048"
FULL_SIZES = "512,1024,2048,4096"
PAIRS, FULL_PAIRS = 3, 10

_INTERRUPTED = 130
_PLAIN_WIDTH = 120
_BAR_WIDTH = 60
_SMALLEST_PREFIX, _LARGEST_PREFIX = 256, 32_768


def demo(  # noqa: PLR0913 - a command's options are its arguments
    *,
    full: Annotated[bool, typer.Option("--full", help="4,096 tokens as well, and 10 pairs of each size.")] = False,
    pairs: Annotated[int | None, typer.Option(min=1, max=100, help="Pairs of each size.")] = None,
    prefix: Annotated[str | None, typer.Option(help=f"Prefix sizes in tokens, such as {SIZES}.")] = None,
    tools: Annotated[Path | None, typer.Option(help="Own tools: an MCP tools/list or OpenAI tools JSON file.")] = None,
    history: Annotated[Path | None, typer.Option(help="Own history: OpenAI chat messages, a JSONL file.")] = None,
    model: Annotated[Path | None, typer.Option(help="Own GGUF file for the model server.")] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="OpenAI-compatible server that the model server passes requests on to.")
    ] = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file as well.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = OUTPUT_DIR,
    seed: Annotated[str | None, typer.Option(help="Names the tenants; the same seed gives the same salts.")] = None,
) -> None:
    """Show a warm first token against a cold one, a fresh preference, a dead cache; exit 0 when every check held."""
    check_choice(model, endpoint)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PLAIN_WIDTH)
    try:
        data = with_own_data(sample_tenant(load_sample()), tools=tools, history=history)
    except UserDataError as error:
        raise BadUseError(str(error)) from error
    own = [name for name, path in (("tools", tools), ("history", history)) if path is not None]
    options = DemoOptions(
        stack=StackOptions(
            state_dir=out / "stack",
            model=model,
            endpoint=endpoint,
            model_id=name_model(model, endpoint),
        ),
        data=data,
        source=f"Your own {' and '.join(own)}" if own else "The sample tenant",
        own_data=bool(own),
        sizes=read_sizes(prefix or (FULL_SIZES if full else SIZES)),
        pairs=pairs or (FULL_PAIRS if full else PAIRS),
        seed=seed or new_seed(),
    )
    result = _run(options, console)
    _show(result, console)
    written = write_report(result, out, extra_json=json_path)
    console.print(f"\nReport: {', '.join(map(str, written))}", soft_wrap=True)
    failed = [check.name for check in result.checks if not check.held]
    if failed:
        raise CommandFailedError(f"{count(len(failed), 'check')} failed: {'; '.join(failed)}")
    console.print(f"All {count(len(result.checks), 'check')} held, after {result.took_s:.0f} s.", style="bold green")


def read_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes in a list such as `512,1024`.

    Raises:
        BadUseError: one of them is not a number that makes sense.
    """
    sizes = []
    for word in text.split(","):
        if not word.strip().isdecimal() or not _SMALLEST_PREFIX <= int(word) <= _LARGEST_PREFIX:
            raise BadUseError(f"--prefix: {word!r} is not a number from {_SMALLEST_PREFIX} to {_LARGEST_PREFIX}")
        sizes.append(int(word))
    return tuple(sizes)


def _run(options: DemoOptions, console: Console) -> DemoResult:
    """Run the demo; every way in which it can end early becomes one line."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    logs = f"; the logs are in {options.stack.state_dir}"
    try:
        with Narrator(console) as narrator:
            return run_demo(options, narrator)
    except KeyboardInterrupt as error:
        console.print("stopped; nothing is left running")
        raise typer.Exit(_INTERRUPTED) from error
    except PartFailedError as error:
        raise CommandFailedError(f"{error}; the stack is stopped. The end of its log:\n{error.log_tail}") from error
    except UnreachableSizeError as error:
        raise CommandFailedError(f"{error}; give more data, or other sizes with --prefix") from error
    except (CallFailedError, WarmUpError, NotQuietError) as error:
        raise CommandFailedError(f"{error}{logs}") from error
    except httpx.HTTPError as error:
        raise CommandFailedError(f"the model server failed: {type(error).__name__}: {error}{logs}") from error


def _show(result: DemoResult, console: Console) -> None:
    console.print()
    console.print(result_table(result.pairs))
    for line in waterfall(result.pairs, width=min(_BAR_WIDTH, console.width - 50)):
        console.print(line, no_wrap=True)
    console.print()
    for line in check_lines(result.checks):
        console.print(line, soft_wrap=True)
