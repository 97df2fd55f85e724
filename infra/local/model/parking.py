"""Carries out what `slots` decides: waits for a slot, saves and restores its KV state through the engine's own API.

A state of 920 tokens is a file of 21 MB, saved in 15 ms and restored in 6 ms (ran). The files lie in a folder that only
this user can read, and go with the server. They hold the tokens of prompts, as the engine's memory does.
"""

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx

from infra.local.model.errors import ServiceError
from infra.local.model.slots import Move, SlotTable

logger = logging.getLogger(__name__)

# Answers that may wait for a slot; the service refuses those above.
MAX_WAITING: Final = 32
_MOVE_TIMEOUT_S: Final = 20.0
_PREFIX: Final = "preheat-kv-"


class SlotKeeper:
    """Lends the slots of one engine to calls. For one event loop.

    Args:
        table: Decides.
        client: Reaches the engine; its base URL is the engine's.
        folder: Where the engine writes its files.
    """

    def __init__(self, table: SlotTable, client: httpx.AsyncClient, *, folder: Path) -> None:
        self._table = table
        self._client = client
        self._folder = folder
        self._waiting = 0
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, session: str, text: str) -> AsyncIterator[int]:
        """Hold a slot for a call whose prompt is `text`; yields its number.

        Raises:
            ServiceError: ServiceUnavailable, too many calls wait for a slot.
        """
        while (lease := self._table.lease(session, text)) is None:
            await self._wait()
        held = ""
        try:
            for move in lease.moves:
                await self._move(move)
            held = text
            yield lease.slot
        finally:
            self._table.release(lease, held)
            self._freed.set()

    async def _wait(self) -> None:
        if self._waiting >= MAX_WAITING:
            raise ServiceError("ServiceUnavailable", 503, "The endpoint is at capacity. Try your call again.")
        self._waiting += 1
        self._freed.clear()
        try:
            await self._freed.wait()
        finally:
            self._waiting -= 1

    async def _move(self, move: Move) -> None:
        """Save or restore one state. A failure costs a prefill, never the call."""
        done = False
        try:
            response = await self._client.post(
                f"/slots/{move.slot}",
                params={"action": move.kind},
                json={"filename": move.file},
                timeout=_MOVE_TIMEOUT_S,
            )
            done = response.status_code == httpx.codes.OK
            if done and move.kind == "save":
                size_bytes = int(response.json()["n_written"])
                for file in self._table.saved(move.file, size_bytes):
                    (self._folder / file).unlink(missing_ok=True)
        except httpx.HTTPError:
            logger.warning("a slot could not be moved", extra={"kind": move.kind})
        finally:
            if not done:
                self._table.lost(move.file)


def make_folder() -> Path:
    """Make this process's folder for slot files, and remove those that killed servers left."""
    for old in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = old.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not _is_running(int(pid)):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
