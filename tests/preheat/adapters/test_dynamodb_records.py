"""What the contract suite cannot see: the calls that are made, and what becomes of the vendor's errors."""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.agent import AgentState, Profile
from preheat.budget import Budgets
from preheat.errors import ConflictError, SourceUnavailableError
from preheat.ports import NewTurn
from preheat.preference_set import PreferenceSet
from preheat.preferences import Preference
from preheat.rows import preference_document
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId
from preheat.stamp import Frozen, Stamp, UserState
from preheat.tools import Tool
from tests.scripted_dynamodb import NOTHING, TABLE, Answer, ScriptedClient, records_on, refusal, rows

TENANT = TenantId("acme")
USER = UserId("ada")
AGENT = AgentId("support")
SCOPE = Scope(TENANT, USER, AGENT, SessionId("s-1"))
AGENT_PK, USER_PK = "T#acme#A#support", "T#acme#U#ada"
KEYS = [
    {"pk": {"S": AGENT_PK}, "sk": {"S": "STATE"}},
    {"pk": {"S": USER_PK}, "sk": {"S": "STATE"}},
    {"pk": {"S": USER_PK}, "sk": {"S": "SESSION#s-1"}},
]
USER_STATE = {**KEYS[1], "forget_ver": {"N": "1"}, "pref_ver": {"N": "5"}, "hist_seq": {"N": "7"}}
NO_PREFERENCES = {
    "pk": {"S": USER_PK},
    "sk": {"S": "PREFERENCES"},
    "body": {"B": preference_document(PreferenceSet())},
    "revision": {"N": "1"},
}
PROFILE = Profile("Be brief.")
TOOLS = (Tool("crm/find", "finds", "{}"),)

Call = Callable[[DynamoDBRecords], object]


def set_units(records: DynamoDBRecords) -> object:
    return records.set_preference(TENANT, USER, key="units", value="metric", now=1.0)


def frozen(preferences: tuple[Preference, ...] = ()) -> Frozen:
    return Frozen(
        stamp=Stamp(1, 1, 0, 0, 0, "model", "renderer"),
        generation=2,
        tools=(),
        tools_why="",
        preferences=preferences,
        first_seq=1,
        budgets=Budgets(),
    )


def test_read_versions__is_one_consistent_read() -> None:
    agent = {
        **KEYS[0],
        "agent_ver": {"N": "3"},
        "catalog_ver": {"N": "2"},
        "profile_sha": {"S": "p"},
        "catalog_sha": {"S": "c"},
    }
    client = ScriptedClient(rows(USER_STATE, agent))

    versions = records_on(client).read_versions(SCOPE)

    assert client.calls == [
        ("batch_get_item", {"RequestItems": {TABLE: {"Keys": KEYS, "ConsistentRead": True}}}),
    ]
    assert versions.agent == AgentState(3, 2, "p", "c")
    assert versions.user == UserState(1, 5, 7)
    assert versions.session is None


def test_read_versions__keys_held_back_are_asked_for_again_at_once() -> None:
    held_back = {"Responses": {TABLE: []}, "UnprocessedKeys": {TABLE: {"Keys": [KEYS[1]], "ConsistentRead": True}}}
    client = ScriptedClient(held_back, rows(USER_STATE))
    waits: list[float] = []

    versions = records_on(client, waits=waits).read_versions(SCOPE)

    assert versions.user == UserState(1, 5, 7)
    assert client.calls[1][1] == {"RequestItems": {TABLE: {"Keys": [KEYS[1]], "ConsistentRead": True}}}
    assert waits == []


def test_read_versions__keys_held_back_for_ever_are_an_outage() -> None:
    client = ScriptedClient({"Responses": {}, "UnprocessedKeys": {TABLE: {"Keys": KEYS}}})

    with pytest.raises(SourceUnavailableError):
        records_on(client).read_versions(SCOPE)

    assert len(client.calls) == 4


CALLS: dict[str, Call] = {
    "read_versions": lambda records: records.read_versions(SCOPE),
    "list_preferences": lambda records: records.list_preferences(TENANT, USER),
    "newest_turns": lambda records: records.newest_turns(TENANT, USER, limit=3),
    "load_agent": lambda records: records.load_agent(TENANT, AGENT, state=AgentState(1, 1, "p", "c")),
    "put_agent": lambda records: records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS),
    "put_frozen": lambda records: records.put_frozen(SCOPE, frozen(), expires_at=2.0),
    "create_session": lambda records: records.create_session(SCOPE, warm=True, now=1.0, expires_at=2.0),
    "append_turns": lambda records: records.append_turns(
        TENANT, USER, turns=[NewTurn("t", SCOPE.session, "user", "hello")]
    ),
    "set_preference": set_units,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "error",
    [
        refusal("ProvisionedThroughputExceededException"),
        refusal("ThrottlingException"),
        refusal("RequestLimitExceeded"),
        refusal("InternalServerError"),
        refusal("503"),
        EndpointConnectionError(endpoint_url="https://dynamodb"),
        ConnectTimeoutError(endpoint_url="https://dynamodb"),
    ],
    ids=["throughput", "throttling", "limit", "internal", "503", "unreachable", "timed out"],
)
def test_records__vendor_errors_are_an_outage(name: str, error: Exception) -> None:
    client = ScriptedClient(error)

    with pytest.raises(SourceUnavailableError) as caught:
        CALLS[name](records_on(client))

    assert caught.value.__cause__ is error
    assert "secret" not in str(caught.value)
    assert len(client.calls) == 1


@pytest.mark.parametrize(
    "error",
    [
        refusal("TransactionCanceledException", "TransactionConflict", "None"),
        refusal("TransactionCanceledException", "None", "ConditionalCheckFailed"),
        refusal("TransactionCanceledException", "ThrottlingError", "TransactionConflict"),
        refusal("TransactionInProgressException"),
    ],
    ids=["conflict", "condition", "conflict under throttling", "in progress"],
)
def test_set_preference__a_lost_race_is_read_and_tried_again_with_another_token(error: Exception) -> None:
    client = ScriptedClient(rows(USER_STATE, NO_PREFERENCES), error, rows(USER_STATE, NO_PREFERENCES), {})
    waits: list[float] = []

    state = records_on(client, waits=waits).set_preference(TENANT, USER, key="units", value="metric", now=1.0)

    assert state == UserState(1, 6, 7)
    assert client.named() == ["batch_get_item", "transact_write_items"] * 2
    tokens = {client.calls[at][1]["ClientRequestToken"] for at in (1, 3)}
    assert len(tokens) == 2
    assert len(waits) == 1


@pytest.mark.parametrize("name", ["set_preference", "append_turns", "create_session"])
def test_writes__a_race_lost_every_time_is_a_conflict_after_bounded_waits(name: str) -> None:
    lost = refusal("TransactionCanceledException", "TransactionConflict")
    script: list[Answer] = [NOTHING, lost]
    client = ScriptedClient(*script * 100)
    waits: list[float] = []

    with pytest.raises(ConflictError) as caught:
        CALLS[name](records_on(client, waits=waits))

    assert caught.value.retryable
    assert client.named() == ["batch_get_item", "transact_write_items"] * 16
    assert len(waits) == 15
    assert all(0 <= wait <= 0.4 for wait in waits)
    assert len(set(waits)) > 1


def test_set_preference__a_throttled_transaction_is_an_outage_and_not_tried_again() -> None:
    client = ScriptedClient(NOTHING, refusal("TransactionCanceledException", "None", "ThrottlingError"))

    with pytest.raises(SourceUnavailableError, match="ThrottlingError"):
        set_units(records_on(client))

    assert len(client.calls) == 2


@pytest.mark.parametrize(
    ("items", "name"),
    [
        ([{"seq": {"N": "1"}, "role": {"S": "nobody"}}], "newest_turns"),
        ([{"tool_calls": {"S": "["}}], "newest_turns"),
    ],
    ids=["no role", "no calls"],
)
def test_queries__rows_of_another_schema_are_an_outage(items: Sequence[Mapping[str, object]], name: str) -> None:
    with pytest.raises(SourceUnavailableError):
        CALLS[name](records_on(ScriptedClient({"Items": items})))


def test_read_frozen__a_row_of_another_schema_is_an_outage() -> None:
    row = {"pk": {"S": USER_PK}, "sk": {"S": "FROZEN#s-1"}, "body": {"B": gzip.compress(b'{"generation":1}')}}

    with pytest.raises(SourceUnavailableError):
        records_on(ScriptedClient(rows(row))).read_frozen(SCOPE)


def test_put_frozen__expires_in_whole_seconds_and_not_early() -> None:
    client = ScriptedClient({})

    records_on(client).put_frozen(SCOPE, frozen(), expires_at=1000.25)

    transaction = json.dumps(client.calls[0][1], default=repr)
    assert '"expires_at": {"N": "1001"}' in transaction
    assert '"generation": {"N": "2"}' in transaction


def test_put_frozen__a_record_that_no_row_can_hold_is_refused_before_any_call() -> None:
    noise = hashlib.shake_256(b"seed").hexdigest(500_000)
    client = ScriptedClient({})

    with pytest.raises(SourceUnavailableError):
        records_on(client).put_frozen(SCOPE, frozen((Preference("k", noise, 1, 1.0),)), expires_at=1.0)

    assert client.calls == []


def test_create_session__expires_in_whole_seconds_and_keeps_the_exact_end() -> None:
    client = ScriptedClient(NOTHING)

    records_on(client).create_session(SCOPE, warm=True, now=1.5, expires_at=1000.25)

    transaction = json.dumps(client.calls[1][1])
    assert '"expires_at": {"N": "1001"}' in transaction
    assert '"ends_at": {"N": "1000.25"}' in transaction
