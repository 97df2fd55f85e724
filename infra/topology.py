"""Tables, bus, queues, rules and functions as data.

Read by the CDK stacks and by the local stack, so that what runs on one machine and what is deployed cannot drift. Sizes
and times carry their unit in the name. Only `preheat.names` is imported.
"""

from dataclasses import dataclass

from preheat import names


@dataclass(frozen=True, slots=True)
class Table:
    """One DynamoDB table with string keys `pk` and `sk`, billed per request.

    `durable` tables hold the source of truth; the others hold only what can be built again.
    """

    name: str
    durable: bool
    partition_key: str = names.PARTITION_KEY
    sort_key: str = names.SORT_KEY
    ttl_attribute: str = names.TTL_ATTRIBUTE


@dataclass(frozen=True, slots=True)
class Queue:
    """One SQS queue with its dead-letter queue.

    `visibility_s` is at least six times the timeout of the function that reads it, as Lambda asks for.
    """

    name: str
    dead_letters: str
    visibility_s: int
    max_receive_count: int = 3
    retention_s: int = 4 * 3600
    dead_letter_retention_s: int = 14 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Rule:
    """One EventBridge rule: these detail types of our source go to this queue, the whole envelope as the body."""

    name: str
    detail_types: tuple[str, ...]
    queue: str
    source: str = names.EVENT_SOURCE


@dataclass(frozen=True, slots=True)
class Function:
    """One Lambda function: `functions/<folder>/handler.py`.

    `queue` names the queue it reads (None: it serves HTTP). `streams` marks the ASGI app that runs under the Lambda Web
    Adapter. `publishes` marks a function that puts events on the bus, `invokes_model` one that calls the endpoint.
    Every function reads every table; `writes` names those that it changes, `clears` those that it only removes from.
    """

    folder: str
    timeout_s: int
    memory_mb: int
    queue: str | None = None
    batch_size: int = 1
    max_concurrency: int = 2
    streams: bool = False
    publishes: bool = False
    invokes_model: bool = False
    writes: tuple[str, ...] = ()
    clears: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP route of the API: method, path (API Gateway's `{name}` form) and the function that serves it."""

    method: str
    path: str
    function: str


TABLES = (
    Table(names.RECORDS_TABLE, durable=True),
    Table(names.WARM_TABLE, durable=False),
)

QUEUES = (
    Queue(names.WARM_QUEUE, names.WARM_DEAD_LETTERS, visibility_s=720),
    Queue(names.PREFERENCE_QUEUE, names.PREFERENCE_DEAD_LETTERS, visibility_s=720),
)

RULES = (
    Rule("preheat-session-started", (names.SESSION_STARTED,), names.WARM_QUEUE),
    Rule("preheat-preference-changed", (names.PREFERENCE_CHANGED,), names.PREFERENCE_QUEUE),
)

_BOTH_TABLES = (names.RECORDS_TABLE, names.WARM_TABLE)

FUNCTIONS = (
    Function(
        names.WARM_SESSION,
        timeout_s=120,
        memory_mb=1024,
        queue=names.WARM_QUEUE,
        batch_size=5,
        invokes_model=True,
        writes=_BOTH_TABLES,
    ),
    Function(
        names.REFRESH_PREFERENCES,
        timeout_s=120,
        memory_mb=512,
        queue=names.PREFERENCE_QUEUE,
        batch_size=5,
        invokes_model=True,
        writes=_BOTH_TABLES,
    ),
    Function(
        names.API,
        timeout_s=15,
        memory_mb=1024,
        publishes=True,
        writes=(names.RECORDS_TABLE,),
        clears=(names.WARM_TABLE,),
    ),
    Function(names.CHAT, timeout_s=120, memory_mb=1769, streams=True, invokes_model=True, writes=_BOTH_TABLES),
)

ROUTES = (
    Route("PUT", "/v1/agents/{agent}", names.API),
    Route("GET", "/v1/agents/{agent}", names.API),
    Route("DELETE", "/v1/users/{user}", names.API),
    Route("GET", "/v1/users/{user}/preferences", names.API),
    Route("PUT", "/v1/users/{user}/preferences", names.API),
    Route("PUT", "/v1/users/{user}/preferences/{key}", names.API),
    Route("DELETE", "/v1/users/{user}/preferences/{key}", names.API),
    Route("POST", "/v1/users/{user}/preferences/{key}/observations", names.API),
    Route("GET", "/v1/users/{user}/turns", names.API),
    Route("POST", "/v1/users/{user}/turns", names.API),
    Route("POST", "/v1/users/{user}/sessions", names.API),
    Route("GET", "/v1/users/{user}/sessions/{session}", names.API),
    Route("POST", "/v1/chat/completions", names.CHAT),
)

MAX_BODY_BYTES = 1_048_576
