"""An erased user on real parts: handlers, a table emulator, a real Valkey; every table and key is looked through."""

import gzip
import io
import json
import logging
import os
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.config import Config

from functions.refresh_preferences.handler import handler as refresh_preferences
from functions.warm_session.handler import handler as warm_session
from infra.topology import TABLES
from preheat import keys, names
from preheat.adapters.observability import logger
from preheat.envelope import HEADER_BYTES
from preheat.runtime import get_runtime
from preheat.session import TenantId, UserId
from tests.functions.conftest import AGENT, REGION, TENANT, USER, Deployed
from tests.functions.test_api import AGENT_CALL, call
from tests.functions.test_workers import batch, envelope
from tests.servers import HOST, RunningValkey, free_port, running_valkey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CANARY: Final = "canary-7f3a91"
# A session's id is the caller's, and is logged; so it bears a mark of its own.
SESSION: Final = "session-c4n4ry"
OWNER: Final = keys.user_partition(TenantId(TENANT), UserId(USER))
TURNS: Final = 10_000


@pytest.fixture
def valkey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deployed: Deployed) -> Iterator[RunningValkey]:
    """A cache of its own behind the deployed functions."""
    with running_valkey(tmp_path) as server:
        monkeypatch.setenv(names.ENV_CACHE_URL, f"{server.url}?socket_timeout=5")
        yield server


@pytest.fixture
def logs() -> Iterator[io.StringIO]:
    """What the functions log, as they log it."""
    kept = io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(logger.registered_formatter)
    logger.addHandler(handler)
    yield kept
    logger.handlers.remove(handler)


def forms(value: bytes) -> Iterator[bytes]:
    """Return stored bytes as they lie there, and as they read when unsealed or decompressed."""
    for start in (0, HEADER_BYTES):
        yield value[start:]
        with suppress(zlib.error):
            yield zlib.decompress(value[start:])
        with suppress(gzip.BadGzipFile, EOFError, zlib.error):
            yield gzip.decompress(value[start:])


def stored(client: "DynamoDBClient", server: RunningValkey) -> dict[str, list[bytes]]:
    """Return everything that the tables and the cache hold, by where it lies."""
    found: dict[str, list[bytes]] = {}
    for table in TABLES:
        for page in client.get_paginator("scan").paginate(TableName=table.name):
            for item in page["Items"]:
                where = f"{table.name} {item['pk']['S']} {item['sk']['S']}"
                values = [value for attribute in item.values() for value in attribute.values()]
                found[where] = [
                    form
                    for value in values
                    for form in forms(value if isinstance(value, bytes) else str(value).encode())
                ]
    cursor: Any = 0
    while True:
        answer: Any = server.ask("SCAN", cursor, "COUNT", 1000)
        cursor = answer[0]
        for key in answer[1]:
            dump = server.ask("DUMP", key)
            kind = server.ask("TYPE", key)
            read = server.ask("GET", key) if kind == b"string" else repr(server.ask("ZRANGE", key, 0, -1)).encode()
            assert isinstance(dump, bytes)
            assert isinstance(read, bytes)
            found[f"valkey {key.decode()}"] = [dump, *forms(read)]
        if cursor in {b"0", 0}:
            return found


def where(found: dict[str, list[bytes]], mark: str) -> set[str]:
    """Return where a mark lies, in a key or in a value."""
    return {place for place, values in found.items() if any(mark.encode() in one for one in (place.encode(), *values))}


def fill(claims: dict[str, str]) -> None:
    """Plant the canary wherever a user's words can lie, by way of the functions."""
    path = f"/v1/users/{USER}"
    call("PUT", f"/v1/agents/{AGENT}", claims, body=AGENT_CALL)
    call("PUT", f"{path}/preferences/seat", claims, body={"value": f"aisle {CANARY}"})
    made = {"id": "c1", "type": "function", "function": {"name": "tools__search", "arguments": f'{{"q":"{CANARY}"}}'}}
    turns = [
        {"id": "t1", "role": "user", "content": f"find {CANARY}"},
        {"id": "t2", "role": "assistant", "content": "", "tool_calls": [made]},
        {"id": "t3", "role": "tool", "content": f"found {CANARY}", "tool_call_id": "c1"},
        {"id": "t4", "role": "assistant", "content": f"it is {CANARY}"},
    ]
    assert call("POST", f"{path}/turns", claims, body={"session": SESSION, "turns": turns})[0] == 200
    asked = {"agent": AGENT, "session_id": SESSION}
    assert call("POST", f"{path}/sessions", claims, body=asked)[0] == 202
    started = {"tenant": TENANT, "user": USER, "agent": AGENT, "session_id": SESSION}
    assert warm_session(batch(envelope(started)), LambdaContext()) == {"batchItemFailures": []}
    changed = {"tenant": TENANT, "user": USER, "key": "meal", "value": f"no {CANARY}", "version": 1}
    body = envelope(changed, names.PREFERENCE_CHANGED)
    assert refresh_preferences(batch(body), LambdaContext()) == {"batchItemFailures": []}


def test_erase__canary_is_found_nowhere_in_tables_cache_and_logs(
    deployed: Deployed,
    claims: dict[str, str],
    valkey: RunningValkey,
    logs: io.StringIO,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fill(claims)
    before = stored(deployed.dynamodb, valkey)
    # It is everywhere first: else finding nothing afterwards would mean nothing.
    places = where(before, CANARY)
    for kind in ("records", " TURN#", " PREFERENCES", " FROZEN#", names.WARM_TABLE, "valkey ph1:bundle"):
        assert any(kind in place for place in places), kind
    assert len(where(before, SESSION)) >= 6

    status, receipt = call("DELETE", f"/v1/users/{USER}", claims)

    assert status == 200
    after = stored(deployed.dynamodb, valkey)
    assert where(after, CANARY) == where(after, SESSION) == set()
    assert [place for place in after if OWNER in place] == [f"{names.RECORDS_TABLE} {OWNER} STATE"]
    said = logs.getvalue() + "".join(capfd.readouterr())
    assert '"warm-up done"' in said
    assert '"user erased"' in said
    assert '"_aws"' in said
    assert CANARY not in said
    assert f'"{USER}"' not in said
    assert CANARY not in json.dumps(receipt)


def test_erase__receipt_counts_every_tier(deployed: Deployed, claims: dict[str, str], valkey: RunningValkey) -> None:
    fill(claims)

    _, receipt = call("DELETE", f"/v1/users/{USER}", claims)

    assert receipt.keys() == {"user", "erased_at", "tiers", "sha256", "stays"}
    assert receipt["user"] == USER
    assert receipt["tiers"]["records"] == {"frozen": 1, "preferences": 2, "sessions": 1, "turn_ids": 4, "turns": 4}
    assert receipt["tiers"]["valkey"] == 2
    assert receipt["tiers"]["dynamodb"] >= 2
    assert len(receipt["sha256"]) == 64
    assert receipt["stays"][0]["until"] >= receipt["erased_at"] + 30 * 86_400


def test_erase__sessions_are_gone_and_no_late_event_brings_them_back(
    deployed: Deployed, claims: dict[str, str], valkey: RunningValkey
) -> None:
    fill(claims)
    started = {"tenant": TENANT, "user": USER, "agent": AGENT, "session_id": SESSION, "time": time.time()}

    call("DELETE", f"/v1/users/{USER}", claims)
    warm_session(batch(envelope(started)), LambdaContext())

    assert call("GET", f"/v1/users/{USER}/sessions/{SESSION}", claims)[0] == 404
    assert call("GET", f"/v1/users/{USER}/preferences", claims)[1]["preferences"] == []
    assert [place for place in stored(deployed.dynamodb, valkey) if OWNER in place] == [
        f"{names.RECORDS_TABLE} {OWNER} STATE"
    ]


def test_erase__cache_out_of_reach_is_a_503_and_the_next_call_does_the_rest(
    deployed: Deployed, claims: dict[str, str], valkey: RunningValkey
) -> None:
    fill(claims)
    valkey.kill()

    status, problem = call("DELETE", f"/v1/users/{USER}", claims)

    assert (status, problem["code"], problem["left"]) == (503, "erase_incomplete", ["valkey"])
    assert problem["erased"]["records"]["turns"] == 4
    assert problem["erased"]["dynamodb"] >= 2
    assert HOST not in problem["detail"]
    valkey.start()
    assert call("DELETE", f"/v1/users/{USER}", claims)[0] == 200


def test_erase__by_another_user_is_a_403_and_nothing_goes(
    deployed: Deployed, claims: dict[str, str], valkey: RunningValkey
) -> None:
    fill(claims)
    users_token = {names.CLAIM_TENANT: TENANT, names.CLAIM_USER: "bob"}

    assert call("DELETE", f"/v1/users/{USER}", users_token)[0] == 403
    assert where(stored(deployed.dynamodb, valkey), CANARY)
    assert call("DELETE", f"/v1/users/{USER}", {**users_token, names.CLAIM_USER: USER})[0] == 200


# --- ten thousand turns, on the table emulator of the local stack -----------------------------------------------------
@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["DynamoDBClient"]:
    """The local stack's emulator and a Valkey behind the functions, each in a process of its own."""
    port, ready = free_port(), tmp_path / "ready"
    environment = {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": f"http://{HOST}:{port}",
        names.ENV_RECORDS_TABLE: names.RECORDS_TABLE,
        names.ENV_WARM_TABLE: names.WARM_TABLE,
        names.ENV_ENDPOINT_NAME: "nowhere",
        names.ENV_MODEL_ID: "none",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "infra.local.aws", "--port", str(port), "--ready-file", str(ready)]
    with running_valkey(tmp_path) as server, subprocess.Popen(command, env=dict(os.environ)) as emulator:
        try:
            monkeypatch.setenv(names.ENV_CACHE_URL, server.url)
            deadline = time.monotonic() + 30
            while not ready.exists():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            get_runtime.cache_clear()
            yield boto3.client("dynamodb", config=Config(max_pool_connections=32))
            get_runtime().ports.executor.shutdown()
            get_runtime.cache_clear()
        finally:
            emulator.terminate()


def grow(client: "DynamoDBClient") -> None:
    """Copy the one turn that is there until there are ten thousand."""
    table = names.RECORDS_TABLE
    turn = client.get_item(TableName=table, Key={"pk": {"S": OWNER}, "sk": {"S": keys.turn_sort(1)}})["Item"]
    rows: list[dict[str, Any]] = []
    for seq in range(2, TURNS + 1):
        same = {"pk": {"S": OWNER}, "seq": {"N": str(seq)}}
        rows.append({**turn, **same, "sk": {"S": keys.turn_sort(seq)}, "turn_id": {"S": f"t{seq}"}})
        rows.append({**same, "sk": {"S": keys.turn_id_sort(f"t{seq}")}})

    def put(start: int) -> None:
        client.batch_write_item(
            RequestItems={table: [{"PutRequest": {"Item": row}} for row in rows[start : start + 25]]}
        )

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put, range(0, len(rows), 25)))
    client.update_item(
        TableName=table,
        Key={"pk": {"S": OWNER}, "sk": {"S": keys.STATE}},
        UpdateExpression="SET hist_seq = :n",
        ExpressionAttributeValues={":n": {"N": str(TURNS)}},
    )


def test_erase__ten_thousand_turns_go_in_one_call_or_the_few_that_a_busy_machine_needs(
    served: "DynamoDBClient", claims: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    turns = {"session": "s", "turns": [{"id": "t1", "role": "user", "content": "hello there " * 10}]}
    call("POST", f"/v1/users/{USER}/turns", claims, body=turns)
    grow(served)
    gone: Counter[str] = Counter()
    started, status, calls = time.monotonic(), 503, 0

    while status == 503 and calls < 4:
        calls += 1
        status, body = call("DELETE", f"/v1/users/{USER}", claims)
        gone.update((body["tiers"] if status == 200 else body["erased"])["records"])

    with capsys.disabled():
        took_s = time.monotonic() - started
        print(f"\n{TURNS} turns, {gone.total()} rows, erased in {took_s:.2f} s, {calls} call(s)")  # noqa: T201
    assert status == 200
    assert gone == {"turn_ids": TURNS, "turns": TURNS}
    (left,) = served.scan(TableName=names.RECORDS_TABLE)["Items"]
    assert left["sk"] == {"S": "STATE"}
