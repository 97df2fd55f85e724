"""The supervisor: starts every part of the local stack, watches them, and leaves no process behind.

    with start_stack(StackOptions()) as stack:
        stack.urls["gateway"], stack.token("acme", "ada"), stack.client("events")

However the supervisor goes, its parts go: on the way out of the context they are ended in order, and when the process
is killed the reaper ends them.
"""

import contextlib
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.addresses import Addresses
from infra.local.clients import AwsClients
from infra.local.parts import CACHE, Blueprint, Part, StackOptions
from infra.local.processes import PartFailedError, Reaper, describe_exit, end, kill, launch, read_tail
from infra.local.tokens import mint_token

OnReady = Callable[[str, float], None]
"""Called with a part's name and the seconds from the stack's start until the part was ready."""

_POLL_S = 0.02
_WATCH_S = 0.1
_REAPER = "reaper"
_SECRET_BYTES = 32


@dataclass(slots=True)
class _Running:
    """One part and its process; `ended` once the caller has ended it on purpose."""

    part: Part
    process: subprocess.Popen[bytes]
    ended: bool = False


class Stack:
    """A running stack. Made by `start_stack`, and of use until its context ends.

    Attributes:
        client: `client("dynamodb")`, "events", "sqs" or "sagemaker-runtime" returns the stack's boto3 client.
    """

    def __init__(self, blueprint: Blueprint, reaper: Reaper) -> None:
        self._blueprint = blueprint
        self._reaper = reaper
        self._running: dict[str, _Running] = {}
        self.client = AwsClients(blueprint.handler_environment)

    @property
    def addresses(self) -> Addresses:
        """The ports of the parts, and names made from them."""
        return self._blueprint.addresses

    @property
    def urls(self) -> Mapping[str, str]:
        """URL of each part that has one, by its name: `gateway`, `aws`, `model`, `cache`."""
        return self._blueprint.addresses.urls

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that every handler gets; give them to a process that is to act as one."""
        return self._blueprint.handler_environment

    @property
    def token_secret(self) -> str:
        """What the gateway verifies tokens with; made anew for every stack."""
        return self._blueprint.token_secret

    @property
    def pids(self) -> Mapping[str, int]:
        """Process id of each part that is meant to run, by its name."""
        return {name: running.process.pid for name, running in self._running.items() if not running.ended}

    def token(self, tenant: str, user: str, *, service: bool = False, ttl_s: float = 8 * 3600.0) -> str:
        """Return a bearer token that the gateway accepts for `ttl_s` seconds from now."""
        return mint_token(self.token_secret, tenant=tenant, user=user, service=service, now=time.time(), ttl_s=ttl_s)

    def log(self, part: str) -> Path:
        """Return the file that holds the part's output."""
        return self._blueprint.options.state_dir / f"{part}.log"

    def start(self, on_ready: OnReady) -> None:
        """Start every part at once and wait until all are ready.

        Raises:
            PartFailedError: a part died, or was not ready in time.
        """
        options = self._blueprint.options
        options.state_dir.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        for part in self._blueprint.parts():
            self.log(part.name).unlink(missing_ok=True)
            self._launch(part)
        self._await_ready(set(self._running), on_ready, started=started)

    def check(self) -> None:
        """Do nothing while all is well.

        Raises:
            PartFailedError: a part has died that nobody ended through this object.
        """
        for name, running in self._running.items():
            if not running.ended and running.process.poll() is not None:
                raise self._failure(name, describe_exit(running.process.returncode))
        if self._reaper.process.poll() is not None:
            raise self._failure(_REAPER, describe_exit(self._reaper.process.returncode))

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until a part dies, or for `timeout_s` seconds.

        Raises:
            PartFailedError: a part has died that nobody ended through this object.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while deadline is None or time.monotonic() < deadline:
            self.check()
            time.sleep(_WATCH_S)

    def kill(self, part: str) -> None:
        """Kill one part on purpose, as a crash of it would; the others run on, and `check` does not mind."""
        running = self._running[part]
        running.ended = True
        kill(running.process)
        self._reaper.forget(running.process.pid)

    def restart(self, part: str) -> None:
        """Start one part again, empty, at its old address, and wait until it is ready. Kills it when it still runs.

        Raises:
            PartFailedError: it died, or was not ready in time.
        """
        self.kill(part)
        self._launch(self._running[part].part)
        self._await_ready({part}, _ignore, started=time.monotonic())

    def kill_cache(self) -> None:
        """Kill Valkey; what it held is lost."""
        self.kill(CACHE)

    def restart_cache(self) -> None:
        """Start Valkey again, empty, at its old address."""
        self.restart(CACHE)

    def stop(self) -> None:
        """End every part, then the reaper with whatever is left."""
        try:
            running = [entry.process for entry in self._running.values() if not entry.ended]
            end(running)
            for process in running:
                self._reaper.forget(process.pid)
            for part in self._running:
                self._blueprint.ready_file(part).unlink(missing_ok=True)
        finally:
            self._reaper.close()

    def _launch(self, part: Part) -> None:
        self._blueprint.ready_file(part.name).unlink(missing_ok=True)
        process = launch(
            part.command,
            log=self.log(part.name),
            env=part.environment,
            reaper_pipe=self._reaper.pipe,
        )
        self._running[part.name] = _Running(part, process)

    def _await_ready(self, names: set[str], on_ready: OnReady, *, started: float) -> None:
        timeout_s = self._blueprint.options.start_timeout_s
        waiting = set(names)
        while waiting:
            self.check()
            for name in sorted(waiting):
                if self._running[name].part.ready():
                    waiting.discard(name)
                    on_ready(name, time.monotonic() - started)
            if waiting and time.monotonic() > started + timeout_s:
                raise self._failure(min(waiting), f"was not ready after {timeout_s:g} s")
            time.sleep(_POLL_S)

    def _failure(self, part: str, reason: str) -> PartFailedError:
        return PartFailedError(part, reason=reason, log_tail=read_tail(self.log(part)))


@contextlib.contextmanager
def start_stack(options: StackOptions, *, on_ready: OnReady | None = None) -> Iterator[Stack]:
    """Start a stack and stop it when the context ends.

    Raises:
        PartFailedError: a part died, or was not ready in time; nothing is left running.
    """
    blueprint = Blueprint(
        options=options,
        addresses=Addresses.reserve(),
        token_secret=secrets.token_urlsafe(_SECRET_BYTES),
        parent=dict(os.environ),
    )
    stack = Stack(blueprint, Reaper())
    try:
        stack.start(on_ready or _ignore)
        yield stack
    finally:
        stack.stop()


def _ignore(_part: str, _seconds: float) -> None:
    """Take a report of progress that nobody asked for."""
