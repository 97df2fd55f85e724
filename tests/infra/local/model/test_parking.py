"""States are moved, and a move never fails a call."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from infra.local.model.errors import ServiceError
from infra.local.model.parking import MAX_WAITING, SlotKeeper, make_folder
from infra.local.model.slots import MIN_SHARED_CHARS, SlotTable

LONG = "x" * MIN_SHARED_CHARS


class Engine:
    """llama.cpp's slot API, as far as it is used: files of 100 bytes in a folder."""

    def __init__(self, folder: Path, *, broken: str = "") -> None:
        self.folder = folder
        self.broken = broken
        self.log: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        kind = request.url.params["action"]
        file = self.folder / request.read().decode().split('"')[3]
        self.log.append(f"{kind} {request.url.path}")
        if kind == self.broken:
            return httpx.Response(400)
        if kind == "save":
            file.write_bytes(bytes(100))
        return httpx.Response(200, json={"n_written": 100} if kind == "save" else {})


def keeper_for(
    engine: Callable[[httpx.Request], httpx.Response], folder: Path, *, slots: int, limit: int
) -> SlotKeeper:
    client = httpx.AsyncClient(base_url="http://engine", transport=httpx.MockTransport(engine))
    return SlotKeeper(SlotTable(slots, limit), client, folder=folder)


async def _call(keeper: SlotKeeper, session: str, text: str) -> int:
    async with keeper.hold(session, text) as slot:
        return slot


def test_hold__keeps_what_it_displaces_and_brings_it_back(tmp_path: Path) -> None:
    engine = Engine(tmp_path)

    async def run() -> None:
        keeper = keeper_for(engine, tmp_path, slots=1, limit=1000)
        for session in "aba":
            await _call(keeper, session, session + LONG)

    asyncio.run(run())
    assert engine.log == ["save /slots/0", "save /slots/0", "restore /slots/0"]


def test_hold__files_over_the_limit_are_deleted(tmp_path: Path) -> None:
    async def run() -> None:
        keeper = keeper_for(Engine(tmp_path), tmp_path, slots=1, limit=250)
        for session in "abcde":
            await _call(keeper, session, session + LONG)

    asyncio.run(run())
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("broken", ["save", "restore"])
def test_hold__a_move_that_fails_does_not_fail_the_call(tmp_path: Path, broken: str) -> None:
    engine = Engine(tmp_path, broken=broken)

    async def run() -> list[int]:
        keeper = keeper_for(engine, tmp_path, slots=1, limit=1000)
        return [await _call(keeper, session, session + LONG) for session in "abab"]

    assert asyncio.run(run()) == [0, 0, 0, 0]


def test_hold__an_engine_that_is_gone_does_not_fail_the_call(tmp_path: Path) -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    async def run() -> list[int]:
        keeper = keeper_for(gone, tmp_path, slots=1, limit=1000)
        return [await _call(keeper, session, session + LONG) for session in "aba"]

    assert asyncio.run(run()) == [0, 0, 0]


def test_hold__waits_for_a_slot(tmp_path: Path) -> None:
    async def run() -> tuple[bool, int]:
        keeper = keeper_for(Engine(tmp_path), tmp_path, slots=1, limit=1000)
        async with keeper.hold("a", ""):
            waiting = asyncio.create_task(_call(keeper, "b", ""))
            await asyncio.sleep(0)
            waited = not waiting.done()
        return waited, await waiting

    assert asyncio.run(run()) == (True, 0)


def test_hold__one_too_many_waiting_is_refused(tmp_path: Path) -> None:
    async def run() -> str:
        keeper = keeper_for(Engine(tmp_path), tmp_path, slots=1, limit=1000)
        async with keeper.hold("a", ""):
            waiting = [asyncio.create_task(_call(keeper, str(number), "")) for number in range(MAX_WAITING)]
            await asyncio.sleep(0)
            with pytest.raises(ServiceError) as caught:
                await _call(keeper, "b", "")
        await asyncio.gather(*waiting)
        return caught.value.code

    assert asyncio.run(run()) == "ServiceUnavailable"


def test_make_folder__is_private_and_removes_what_dead_servers_left() -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], check=True, capture_output=True, text=True
    )
    left = Path(tempfile.gettempdir()) / f"preheat-kv-{dead.stdout.strip()}-left"
    left.mkdir()

    folder = make_folder()
    again = make_folder()

    assert not left.exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.name.startswith(f"preheat-kv-{os.getpid()}-")
    for one in (folder, again):
        one.rmdir()
