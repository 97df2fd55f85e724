"""`preheat up`: the local stack in the foreground, until it is told to stop or a part of it dies."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from infra.local.commands.examples import TENANT, USER, build_examples
from infra.local.commands.failures import BadUseError, CommandFailedError
from infra.local.part_notes import part_notes
from infra.local.parts import DEFAULT_MODEL_ID, DEFAULT_STATE_DIR, StackOptions
from infra.local.probes import valkey_version
from infra.local.processes import PartFailedError
from infra.local.stack import Stack, start_stack
from infra.local.state_file import NoStackError, StackState, read_state, remove_state, write_state


def up(
    *,
    model: Annotated[Path | None, typer.Option(help="Own GGUF file for the model server.")] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="OpenAI-compatible server that the model server passes requests on to.")
    ] = None,
    model_id: Annotated[
        str | None, typer.Option(help="The model's name in keys and stamps; by default that of the file or server.")
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="The own model's tokenizer.json, by which tokens are counted; without it, by a ceiling."),
    ] = None,
    retry_s: Annotated[int, typer.Option(min=0, max=900, help="Seconds until a failed record is tried again.")] = 2,
    workers: Annotated[int, typer.Option(min=1, help="Processes per function that reads a queue.")] = 1,
    state_dir: Annotated[Path, typer.Option(help="Folder for logs and for the stack's state.")] = DEFAULT_STATE_DIR,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON when ready, and no more.")] = False,
) -> None:
    """Run the local stack until Ctrl-C: DynamoDB, EventBridge, SQS, Valkey, the model and the HTTP API."""
    if model is not None and endpoint is not None:
        raise BadUseError("--model and --endpoint exclude each other")
    if model is not None and not model.is_file():
        raise BadUseError(f"--model: there is no file {model}")
    if endpoint is not None and (urlsplit(endpoint).scheme not in {"http", "https"} or not urlsplit(endpoint).netloc):
        raise BadUseError(f"--endpoint: {endpoint} is no http or https URL")
    if tokenizer is not None and not tokenizer.is_file():
        raise BadUseError(f"--tokenizer: there is no file {tokenizer}")
    options = StackOptions(
        state_dir=state_dir,
        model=model,
        endpoint=endpoint,
        model_id=model_id or _name_model(model, endpoint),
        tokenizer=tokenizer,
        retry_s=retry_s,
        workers=workers,
    )
    run_until_stopped(options, as_json=as_json)


def run_until_stopped(options: StackOptions, *, as_json: bool) -> None:
    """Run a stack until SIGINT, SIGTERM or SIGHUP comes, and return.

    Raises:
        BadUseError: a stack runs already in this folder, or it cannot be made.
        CommandFailedError: a part died; everything else is stopped.
    """
    _claim(options.state_dir)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup's choice stands
            signal.signal(number, signal.default_int_handler)
    progress = Console(stderr=True, quiet=as_json, highlight=False)
    try:
        with start_stack(options, on_ready=lambda part, s: progress.print(f"{part} ready after {s:.1f} s")) as stack:
            state = StackState(pid=os.getpid(), urls=dict(stack.urls), token_secret=stack.token_secret)
            state_file = write_state(options.state_dir, state)
            try:
                _announce(stack, options, as_json=as_json)
                stack.wait()
            finally:
                remove_state(state_file)
    except KeyboardInterrupt:
        progress.print("stopped")
    except PartFailedError as error:
        raise CommandFailedError(f"{error}; the stack is stopped. The end of its log:\n{error.log_tail}") from error


def _name_model(model: Path | None, endpoint: str | None) -> str:
    if model is not None:
        return model.stem
    return DEFAULT_MODEL_ID if endpoint is None else urlsplit(endpoint).netloc


def _claim(state_dir: Path) -> None:
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadUseError(f"--state-dir: {error.strerror}: {state_dir}") from error
    try:
        state = read_state(state_dir)
    except NoStackError:
        return
    raise BadUseError(f"a stack runs already, process {state.pid}; stop it or choose another --state-dir")


def _announce(stack: Stack, options: StackOptions, *, as_json: bool) -> None:
    if as_json:
        facts = {"pid": os.getpid(), "urls": stack.urls, "env": stack.env, "pids": stack.pids}
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(_parts_table(stack, options))
    console.print("Copy and paste:\n", style="bold")
    examples = build_examples(
        stack.urls,
        service_token=stack.token(TENANT, "app", service=True),
        user_token=stack.token(TENANT, USER),
    )
    for example in examples:
        console.print(f"# {example.title}", style="green", markup=False)
        console.print(example.command + "\n", markup=False)
    console.print(f"More tokens: preheat token --tenant {TENANT} --user {USER}    Logs: {options.state_dir}")
    console.print("Ctrl-C stops everything; nothing is kept.")


def _parts_table(stack: Stack, options: StackOptions) -> Table:
    table = Table(title="The local stack is up", title_justify="left", box=SIMPLE)
    for column in ("part", "address"):
        table.add_column(column, no_wrap=True)
    table.add_column("what it is")
    notes = part_notes(options, cache_version=valkey_version(stack.addresses.cache))
    for name, note in notes.items():
        table.add_row(name, stack.urls.get(name, ""), note)
    return table
