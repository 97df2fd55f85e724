"""What the contract suite cannot see of agents: how their documents are written, kept and checked."""

import gzip
import hashlib
from typing import TYPE_CHECKING, cast

import pytest

from preheat.agent import AgentState, Profile
from preheat.errors import SourceUnavailableError
from preheat.rows import catalog_document, profile_document
from preheat.session import AgentId, TenantId
from preheat.tools import Tool
from tests.scripted_dynamodb import NOTHING, Answer, ScriptedClient, blob, records_on, rows

if TYPE_CHECKING:
    from collections.abc import Mapping

TENANT = TenantId("acme")
AGENT = AgentId("support")
STATE_KEY = {"pk": {"S": "T#acme#A#support"}, "sk": {"S": "STATE"}}
PROFILE = Profile("Be brief.")
TOOLS = (Tool("crm/find", "finds", "{}"),)


def test_load_agent__a_second_load_makes_no_call() -> None:
    profile, catalog = profile_document(PROFILE), catalog_document(TOOLS)
    state = AgentState(1, 1, hashlib.sha256(profile).hexdigest(), hashlib.sha256(catalog).hexdigest())
    client = ScriptedClient(blob(profile), blob(catalog))
    records = records_on(client)

    first = records.load_agent(TENANT, AGENT, state=state)
    again = records.load_agent(TENANT, AGENT, state=AgentState(5, 6, state.profile_sha, state.catalog_sha))

    assert client.named() == ["query", "query"]
    assert (first.profile, first.catalog) == (again.profile, again.catalog) == (PROFILE, TOOLS)
    assert again.state.agent_ver == 5


def test_load_agent__another_tenants_documents_are_not_taken_from_memory() -> None:
    profile, catalog = profile_document(PROFILE), catalog_document(TOOLS)
    state = AgentState(1, 1, hashlib.sha256(profile).hexdigest(), hashlib.sha256(catalog).hexdigest())
    client = ScriptedClient(blob(profile), blob(catalog), {"Items": []})
    records = records_on(client)
    records.load_agent(TENANT, AGENT, state=state)

    with pytest.raises(SourceUnavailableError):
        records.load_agent(TenantId("other"), AGENT, state=state)


@pytest.mark.parametrize(
    "answer",
    [
        {"Items": []},
        {"Items": [{"body": {"B": b"not gzip"}}]},
        {"Items": [{"body": {"B": gzip.compress(b'{"instructions":1}')[:-4]}}]},
        blob(b'{"instructions":"another document"}'),
        blob(b'{"instructions":1}'),
    ],
    ids=["missing", "not gzip", "cut off", "another hash", "another schema"],
)
def test_load_agent__harmed_documents_are_an_outage(answer: Answer) -> None:
    state = AgentState(1, 1, hashlib.sha256(b'{"instructions":1}').hexdigest(), "c")

    with pytest.raises(SourceUnavailableError):
        records_on(ScriptedClient(answer)).load_agent(TENANT, AGENT, state=state)


def test_put_agent__documents_are_written_in_parts_before_the_state_names_them() -> None:
    noise = [hashlib.shake_256(b"%d" % number).hexdigest(700) for number in range(500)]
    catalog = [Tool(f"big/{number}", text, "{}") for number, text in enumerate(noise)]
    client = ScriptedClient(NOTHING)

    records_on(client).put_agent(TENANT, AGENT, profile=PROFILE, catalog=catalog)

    parts = [cast("Mapping[str, Mapping[str, str]]", call["Item"]) for name, call in client.calls if name == "put_item"]
    assert client.named() == ["batch_get_item", *["put_item"] * 4, "batch_get_item", "transact_write_items"]
    catalog_sha = hashlib.sha256(catalog_document(catalog)).hexdigest()
    assert [part["sk"]["S"] for part in parts[1:]] == [f"BLOB#{catalog_sha}#{number:03d}" for number in range(3)]
    assert all(len(part["body"]["B"]) <= 301_000 for part in parts)


def test_put_agent__equal_documents_cost_no_write() -> None:
    state = {
        **STATE_KEY,
        "agent_ver": {"N": "3"},
        "catalog_ver": {"N": "2"},
        "profile_sha": {"S": hashlib.sha256(profile_document(PROFILE)).hexdigest()},
        "catalog_sha": {"S": hashlib.sha256(catalog_document(TOOLS)).hexdigest()},
    }
    client = ScriptedClient(rows(state))

    records_on(client).put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert set(client.named()) == {"batch_get_item"}
