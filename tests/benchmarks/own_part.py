"""Our own part of a warm request: from accepting it to handing it to the engine, without the table emulator's time.

The check reads three items of DynamoDB, which moto stands in for; its time is not ours and not DynamoDB's. It is
measured beside every request by the same read, sent as plain HTTP, and its median is taken off every check.
"""

import http.client
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final
from urllib.parse import urlsplit

from infra.local.demo.answers import Answer
from infra.local.demo.pairs import Tell
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from preheat import keys, names
from preheat.adapters.dynamodb_items import key_attributes, user_state_key
from preheat.session import AgentId, SessionId, TenantId, UserId

REQUESTS: Final = 200
# A session's window grows with every exchange; it is left long before it is outgrown.
_REQUESTS_PER_SESSION: Final = 10
_QUESTION: Final = "And what else?"
_PERCENTILES: Final = 100


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and 99th percentile, in milliseconds."""

    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class OwnPart:
    """What was measured.

    Attributes:
        requests: How many answers.
        warm: How many of them were warm.
        own: Check without the emulator's median, plus retrieval, tools and assembly.
        gross: The same with the emulator.
        emulator: One read of the same three items, sent as plain HTTP.
    """

    requests: int
    warm: int
    own: Spread
    gross: Spread
    emulator: Spread


class EmulatorRead:
    """Reads three items of one session straight from the emulator, with no client library's work in the time."""

    def __init__(self, aws_url: str) -> None:
        """Open one connection, which is kept."""
        at = urlsplit(aws_url)
        self._connection = http.client.HTTPConnection(at.hostname or "", at.port)
        self._headers = {
            "X-Amz-Target": "DynamoDB_20120810.BatchGetItem",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request",
        }

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ms(self, tenant: str, user: str, *, agent: str, session: str) -> float:
        """Return how long one read took, in milliseconds.

        Raises:
            RuntimeError: the read did not find the three items.
        """
        partition = keys.user_partition(TenantId(tenant), UserId(user))
        wanted = [
            key_attributes((keys.agent_partition(TenantId(tenant), AgentId(agent)), keys.STATE)),
            key_attributes(user_state_key(TenantId(tenant), UserId(user))),
            key_attributes((partition, keys.session_sort(SessionId(session)))),
        ]
        body = json.dumps({"RequestItems": {names.RECORDS_TABLE: {"Keys": wanted, "ConsistentRead": True}}})
        started = time.perf_counter()
        self._connection.request("POST", "/", body=body, headers=self._headers)
        answer = self._connection.getresponse().read()
        took_ms = (time.perf_counter() - started) * 1000
        if len(json.loads(answer)["Responses"][names.RECORDS_TABLE]) != len(wanted):
            raise RuntimeError("the emulator did not return the three items of the check")
        return took_ms


def measure_own_part(
    stage: Stage, sized: SizedTenant, *, aws_url: str, tell: Tell, requests: int = REQUESTS
) -> OwnPart:
    """Ask warm sessions of one tenant, one message after another.

    Args:
        stage: Where.
        sized: What is loaded, without recent turns, so that all its sessions have one prefix.
        aws_url: The emulator's.
        tell: Told of every session.
        requests: How many messages.

    Raises:
        CallFailedError: the API refused a call.
        WarmUpError: a session did not become warm.
        NotQuietError: background work did not end.
    """
    answers: list[Answer] = []
    emulator_ms: list[float] = []
    emulator = EmulatorRead(aws_url)
    try:
        with stage.tenant("own-part") as api:
            api.load(sized.data, sized.budgets)
            stage.await_quiet()
            while len(answers) < requests:
                session = f"own-{len(answers)}"
                api.start_session(sized.data, session, warm=True)
                api.await_warm(session, timeout_s=stage.warm_timeout_s, is_idle=stage.is_quiet)
                stage.await_quiet()
                tell(f"{len(answers)} of {requests} answers")
                for _ in range(min(_REQUESTS_PER_SESSION, requests - len(answers))):
                    answers.append(api.ask(sized.data, session, question=_QUESTION, max_tokens=1))
                    emulator_ms.append(emulator.ms(api.tenant, api.user, agent=sized.data.agent, session=session))
    finally:
        emulator.close()
    return own_part(answers, emulator_ms)


def own_part(answers: Sequence[Answer], emulator_ms: Sequence[float]) -> OwnPart:
    """Return what the answers and the emulator's reads come to; at least two of each."""
    typical_ms = median(emulator_ms)
    times = [answer.block.ms for answer in answers]
    return OwnPart(
        requests=len(answers),
        warm=sum(answer.block.state == "warm" for answer in answers),
        own=spread([one.own - one.check + max(0.0, one.check - typical_ms) for one in times]),
        gross=spread([one.own for one in times]),
        emulator=spread(emulator_ms),
    )


def spread(values: Sequence[float]) -> Spread:
    """Return median and 99th percentile of at least two values."""
    return Spread(median(values), quantiles(values, n=_PERCENTILES, method="inclusive")[-1])
