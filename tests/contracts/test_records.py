"""The contract of `preheat.ports.Records`, run on the fake in memory and on DynamoDB (moto, in process)."""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.adapters.memory_records import MemoryRecords
from preheat.agent import AgentState, Profile
from preheat.budget import Budgets
from preheat.errors import InvalidInputError, SessionTakenError, SourceUnavailableError
from preheat.history import ToolCall
from preheat.ports import NewTurn, Records
from preheat.preferences import Preference, PreferenceValue
from preheat.session import AgentId, Scope, SessionId, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen, Stamp, UserState
from preheat.tools import Tool
from tests.contracts.records_table import emulated_dynamodb, new_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT = TenantId("acme")
USER = UserId("ada")
AGENT = AgentId("support")
SESSION = SessionId("s-1")
SCOPE = Scope(TENANT, USER, AGENT, SESSION)
NOW = 1_764_560_000.123456
LATER = NOW + 3600.0
PROFILE = Profile("Be brief.", "Refunds take 5 days.", ("crm/find",), Budgets(max_tokens=2048))
TOOLS = tuple(
    Tool(f"crm/{name}", f"{name} a record", '{"properties":{"id":{}},"type":"object"}', ("id",))
    for name in ("find", "merge", "delete")
)
STRANGE_TEXT = 'naïve 日本語 🙂 \u0000 \r\n "quoted" \\ #{}:é'
WRITERS = 8


@pytest.fixture(scope="module")
def dynamodb() -> Iterator["DynamoDBClient"]:
    with emulated_dynamodb() as client:
        yield client


@pytest.fixture(params=["memory", "dynamodb"])
def records(request: pytest.FixtureRequest) -> Records:
    if request.param == "memory":
        return MemoryRecords()
    client: DynamoDBClient = request.getfixturevalue("dynamodb")
    return DynamoDBRecords(client, table=new_table(client))


def at_once(act: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(act, range(WRITERS)))


def said(turn_id: str, content: str = "hello", session: SessionId = SESSION) -> NewTurn:
    return NewTurn(turn_id, session, "user", content)


def frozen(generation: int = 0, *, preferences: tuple[Preference, ...] = (), first_seq: int = 1) -> Frozen:
    stamp = Stamp(1, 1, 0, 2, 3, "model", "renderer")
    return Frozen(
        stamp=stamp,
        generation=generation,
        tools=("crm/find", "crm/merge"),
        tools_why="top 2",
        preferences=preferences,
        first_seq=first_seq,
        budgets=Budgets(max_tokens=512),
    )


# --- versions ---------------------------------------------------------------------------------------------------------
def test_read_versions__nothing_written_gives_none_and_zeros(records: Records) -> None:
    versions = records.read_versions(SCOPE)

    assert (versions.agent, versions.user, versions.session) == (None, UserState(0, 0, 0), None)


def test_read_versions__is_what_the_writes_returned(records: Records) -> None:
    agent = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)
    records.set_preference(TENANT, USER, key="units", value="metric", now=NOW)
    user = records.append_turns(TENANT, USER, turns=[said("t-1"), said("t-2")])
    session = records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)

    versions = records.read_versions(SCOPE)

    assert (versions.agent, versions.user, versions.session) == (agent, user, session)
    assert user == UserState(forget_ver=0, pref_ver=1, hist_seq=2)


def test_read_versions__an_expired_session_is_still_told(records: Records) -> None:
    session = records.create_session(SCOPE, warm=False, now=NOW, expires_at=NOW + 1)

    assert records.read_versions(SCOPE).session == session


def test_records__users_tenants_and_agents_never_mix(records: Records) -> None:
    records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)
    records.set_preference(TENANT, USER, key="units", value="metric", now=NOW)
    records.append_turns(TENANT, USER, turns=[said("t-1")])
    records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)
    records.put_frozen(SCOPE, frozen(), expires_at=LATER)

    # The last two spell the first tenant's and user's names in one of their own, and the agent's as a user.
    for tenant, user in (("acme", "bob"), ("acm", "ada"), ("acme-ada", "ada"), ("acme", "support")):
        other = Scope(TenantId(tenant), UserId(user), AgentId("ada"), SESSION)
        versions = records.read_versions(other)
        assert (versions.agent, versions.user, versions.session) == (None, UserState(), None)
        assert records.list_preferences(other.tenant, other.user) == ()
        assert records.newest_turns(other.tenant, other.user, limit=9) == ()
        assert records.turns_from(other.tenant, other.user, first_seq=1) == ()
        assert records.list_sessions(other.tenant, other.user, now=NOW) == ()
        assert records.read_frozen(other) is None
        assert records.append_turns(other.tenant, other.user, turns=[said("t-1")]).hist_seq == 1


# --- agents -----------------------------------------------------------------------------------------------------------
def test_put_agent__counters_start_at_one(records: Records) -> None:
    state = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert (state.agent_ver, state.catalog_ver) == (1, 1)
    assert records.read_agent_state(TENANT, AGENT) == state


def test_put_agent__equal_documents_in_any_order_are_a_no_op(records: Records) -> None:
    first = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS[::-1]) == first


def test_put_agent__only_the_changed_documents_counter_moves(records: Records) -> None:
    records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    profile_changed = records.put_agent(TENANT, AGENT, profile=Profile("Be kind."), catalog=TOOLS)
    catalog_changed = records.put_agent(TENANT, AGENT, profile=Profile("Be kind."), catalog=TOOLS[:2])
    back_again = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert (profile_changed.agent_ver, profile_changed.catalog_ver) == (2, 1)
    assert (catalog_changed.agent_ver, catalog_changed.catalog_ver) == (2, 2)
    assert (back_again.agent_ver, back_again.catalog_ver) == (3, 3)


def test_put_agent__a_tool_of_another_server_with_the_same_wire_name_is_a_change(records: Records) -> None:
    one, other = (Tool(name, "finds", "{}") for name in ("a/b__c", "a__b/c"))
    records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=[one])

    assert records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=[other]).catalog_ver == 2


def test_put_agent__at_once_every_distinct_profile_counts(records: Records) -> None:
    at_once(lambda number: records.put_agent(TENANT, AGENT, profile=Profile(f"Be {number % 4}."), catalog=TOOLS))

    state = records.read_agent_state(TENANT, AGENT)
    assert state is not None
    assert 4 <= state.agent_ver <= WRITERS
    assert state.catalog_ver == 1


def test_put_agent__text_that_utf8_cannot_say_is_refused(records: Records) -> None:
    with pytest.raises(InvalidInputError) as caught:
        records.put_agent(TENANT, AGENT, profile=Profile("\ud800"), catalog=TOOLS)

    assert caught.value.field == "profile"


def test_read_agent_state__unknown_agent_is_none(records: Records) -> None:
    assert records.read_agent_state(TENANT, AGENT) is None


def test_load_agent__gives_back_what_was_put(records: Records) -> None:
    profile = Profile(STRANGE_TEXT, STRANGE_TEXT, ("crm/find",), Budgets(1, 2, 3, 4, 5))
    catalog = (*TOOLS, Tool("crm/åäö", STRANGE_TEXT, '{"title":"日本"}'))
    state = records.put_agent(TENANT, AGENT, profile=profile, catalog=catalog)

    loaded = records.load_agent(TENANT, AGENT, state=state)

    assert (loaded.agent, loaded.state, loaded.profile) == (AGENT, state, profile)
    assert loaded.catalog == tuple(sorted(catalog, key=lambda tool: tool.name))


def test_load_agent__an_earlier_state_still_names_its_documents(records: Records) -> None:
    earlier = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)
    records.put_agent(TENANT, AGENT, profile=Profile("Be kind."), catalog=())

    loaded = records.load_agent(TENANT, AGENT, state=earlier)

    assert (loaded.profile, len(loaded.catalog)) == (PROFILE, len(TOOLS))


def test_load_agent__large_documents_come_back_whole(records: Records) -> None:
    noise = [hashlib.shake_256(b"%d" % number).hexdigest(600) for number in range(500)]
    catalog = tuple(
        Tool(f"big/tool-{number:03d}", text, json.dumps({"title": text})) for number, text in enumerate(noise)
    )
    state = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=catalog)

    assert records.load_agent(TENANT, AGENT, state=state).catalog == catalog


def test_load_agent__documents_that_are_not_there_are_an_outage(records: Records) -> None:
    with pytest.raises(SourceUnavailableError):
        records.load_agent(TENANT, AGENT, state=AgentState(1, 1, "0" * 64, "1" * 64))


# --- preferences ------------------------------------------------------------------------------------------------------
def test_set_preference__moves_the_counter_and_lists_sorted(records: Records) -> None:
    for number, key in enumerate(("units", "Tone", "é", "language"), start=1):
        records.set_preference(TENANT, USER, key=key, value=number, now=NOW + number)

    assert records.list_preferences(TENANT, USER) == (
        Preference("Tone", 2, 2, NOW + 2),
        Preference("language", 4, 4, NOW + 4),
        Preference("units", 1, 1, NOW + 1),
        Preference("é", 3, 3, NOW + 3),
    )
    assert records.read_user_state(TENANT, USER) == UserState(forget_ver=0, pref_ver=4)


def test_set_preference__the_latest_value_replaces(records: Records) -> None:
    records.set_preference(TENANT, USER, key="units", value="metric", now=NOW)

    state = records.set_preference(TENANT, USER, key="units", value="imperial", now=LATER)

    assert records.list_preferences(TENANT, USER) == (Preference("units", "imperial", 2, LATER),)
    assert state.pref_ver == 2


@pytest.mark.parametrize("value", [1, 1.0, True, "1", ("1",), (), 0.1, -0.0, 2**70, STRANGE_TEXT, ""], ids=ascii)
def test_set_preference__the_same_value_again_is_a_no_op(records: Records, value: PreferenceValue) -> None:
    first = records.set_preference(TENANT, USER, key="k", value=value, now=NOW)

    assert records.set_preference(TENANT, USER, key="k", value=value, now=LATER) == first
    assert records.list_preferences(TENANT, USER) == (Preference("k", value, 1, NOW),)


def test_set_preference__values_that_python_calls_equal_are_changes(records: Records) -> None:
    for value in (1, 1.0, True):
        records.set_preference(TENANT, USER, key="k", value=value, now=NOW)

    (preference,) = records.list_preferences(TENANT, USER)
    assert (preference.version, preference.value, type(preference.value)) == (3, True, bool)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4).map(tuple),
    )
)
def test_preference_values__survive_rows_and_frozen_records(records: Records, value: PreferenceValue) -> None:
    records.set_preference(TENANT, USER, key="k", value=value, now=NOW)
    (listed,) = records.list_preferences(TENANT, USER)
    before = records.read_frozen(SCOPE)
    again = frozen(before.generation + 1 if before else 0, preferences=(listed,))
    records.put_frozen(SCOPE, again, expires_at=LATER)

    kept = records.read_frozen(SCOPE)

    assert kept == again
    assert kept is not None
    for preference in (listed, *kept.preferences):
        assert repr(preference.value) == repr(value)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("-inf"), "x" * 300_001, "\ud800", ("a", "\udfff")],
    ids=["not a number", "infinite", "too long", "lone surrogate", "lone surrogate in a list"],
)
def test_set_preference__values_that_no_row_can_hold_are_refused(records: Records, value: PreferenceValue) -> None:
    with pytest.raises(InvalidInputError) as caught:
        records.set_preference(TENANT, USER, key="k", value=value, now=NOW)

    assert caught.value.field == "value"
    assert records.read_user_state(TENANT, USER) == UserState()


def test_set_preference__identical_sets_at_once_leave_one_row(records: Records) -> None:
    at_once(lambda _: records.set_preference(TENANT, USER, key="units", value="metric", now=NOW))

    assert records.list_preferences(TENANT, USER) == (Preference("units", "metric", 1, NOW),)
    assert records.read_user_state(TENANT, USER).pref_ver == 1


def test_set_preference__different_keys_at_once_all_count(records: Records) -> None:
    at_once(lambda number: records.set_preference(TENANT, USER, key=f"k{number}", value=number, now=NOW))

    preferences = records.list_preferences(TENANT, USER)
    assert {preference.key: preference.value for preference in preferences} == {f"k{n}": n for n in range(WRITERS)}
    assert sorted(preference.version for preference in preferences) == list(range(1, WRITERS + 1))
    assert records.read_user_state(TENANT, USER).pref_ver == WRITERS


def test_list_preferences__more_than_one_page_is_whole(records: Records) -> None:
    long = "x" * 280_000
    for number in range(6):
        records.set_preference(TENANT, USER, key=f"k{number}", value=long, now=NOW)

    assert [preference.key for preference in records.list_preferences(TENANT, USER)] == [f"k{n}" for n in range(6)]


def test_delete_preference__moves_both_counters(records: Records) -> None:
    records.set_preference(TENANT, USER, key="a", value=1, now=NOW)
    records.set_preference(TENANT, USER, key="b", value=2, now=NOW)

    state = records.delete_preference(TENANT, USER, key="a", now=NOW)

    assert state == UserState(forget_ver=1, pref_ver=3) == records.read_user_state(TENANT, USER)
    assert [preference.key for preference in records.list_preferences(TENANT, USER)] == ["b"]


def test_delete_preference__a_key_that_is_not_there_is_a_no_op(records: Records) -> None:
    records.set_preference(TENANT, USER, key="a", value=1, now=NOW)

    assert records.delete_preference(TENANT, USER, key="b", now=NOW) == UserState(pref_ver=1)


def test_delete_preference__the_same_value_set_anew_is_a_change(records: Records) -> None:
    records.set_preference(TENANT, USER, key="a", value=1, now=NOW)
    records.delete_preference(TENANT, USER, key="a", now=NOW)

    assert records.set_preference(TENANT, USER, key="a", value=1, now=LATER) == UserState(forget_ver=1, pref_ver=3)
    assert records.list_preferences(TENANT, USER) == (Preference("a", 1, 3, LATER),)


# --- turns ------------------------------------------------------------------------------------------------------------
def test_append_turns__order_and_content_survive(records: Records) -> None:
    calls = (ToolCall("c-1", "crm/find", '{"q":"日本"}'), ToolCall("c-2", "crm/merge", "{}"))
    turns = [
        NewTurn("t-b", SESSION, "user", STRANGE_TEXT),
        NewTurn("t-a", SESSION, "assistant", "", calls),
        NewTurn("t-c", SESSION, "tool", "found", tool_call_id="c-1"),
        NewTurn("t-d", SessionId("s-2"), "assistant", "done"),
    ]

    state = records.append_turns(TENANT, USER, turns=turns)

    kept = records.newest_turns(TENANT, USER, limit=10)
    assert state == UserState(hist_seq=4)
    assert [turn.seq for turn in kept] == [1, 2, 3, 4]
    assert [
        NewTurn(turn.turn_id, turn.session, turn.role, turn.content, turn.tool_calls, turn.tool_call_id)
        for turn in kept
    ] == turns


def test_append_turns__known_ids_are_skipped(records: Records) -> None:
    records.append_turns(TENANT, USER, turns=[said("t-1"), said("t-2")])

    state = records.append_turns(TENANT, USER, turns=[said("t-2", "changed"), said("t-3"), said("t-1"), said("t-4")])

    assert state.hist_seq == 4
    assert [(turn.seq, turn.turn_id, turn.content) for turn in records.turns_from(TENANT, USER, first_seq=1)] == [
        (number, f"t-{number}", "hello") for number in (1, 2, 3, 4)
    ]


def test_append_turns__all_known_or_none_given_is_a_no_op(records: Records) -> None:
    first = records.append_turns(TENANT, USER, turns=[said("t-1")])

    assert records.append_turns(TENANT, USER, turns=[said("t-1")]) == first
    assert records.append_turns(TENANT, USER, turns=[]) == first


def test_append_turns__an_id_repeated_in_one_call_is_appended_once(records: Records) -> None:
    state = records.append_turns(TENANT, USER, turns=[said("t-1", "one"), said("t-2"), said("t-1", "two")])

    assert state.hist_seq == 2
    assert [turn.content for turn in records.turns_from(TENANT, USER, first_seq=1)] == ["one", "hello"]


def test_append_turns__forty_at_once_are_taken_and_one_more_is_not(records: Records) -> None:
    forty = [said(f"t-{number}") for number in range(40)]

    with pytest.raises(InvalidInputError) as caught:
        records.append_turns(TENANT, USER, turns=[*forty, said("t-40")])

    assert caught.value.field == "turns"
    assert records.append_turns(TENANT, USER, turns=forty).hist_seq == 40


def test_append_turns__large_turns_are_kept_and_page(records: Records) -> None:
    contents = [f"{number}" + "é" * 149_000 for number in range(8)]

    records.append_turns(TENANT, USER, turns=[said(f"t-{n}", content) for n, content in enumerate(contents)])

    assert [turn.content for turn in records.turns_from(TENANT, USER, first_seq=1)] == contents
    assert [turn.content for turn in records.newest_turns(TENANT, USER, limit=7)] == contents[1:]


@pytest.mark.parametrize(
    ("turn", "field"),
    [
        (said("t-2", "é" * 150_001), "turns[1].content"),
        (said("t-2", "\ud800"), "turns[1].content"),
        (
            NewTurn("t-2", SESSION, "assistant", "", (ToolCall("c-1", "crm/find", "x" * 90_000),)),
            "turns[1].tool_calls",
        ),
    ],
    ids=["too long", "lone surrogate", "too long a call"],
)
def test_append_turns__a_turn_that_no_row_can_hold_is_named(records: Records, turn: NewTurn, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        records.append_turns(TENANT, USER, turns=[said("t-1"), turn])

    assert caught.value.field == field
    assert records.read_user_state(TENANT, USER) == UserState()


def test_append_turns__a_batch_over_one_transaction_is_refused(records: Records) -> None:
    turns = [said(f"t-{number}", "x" * 300_000) for number in range(12)]

    with pytest.raises(InvalidInputError) as caught:
        records.append_turns(TENANT, USER, turns=turns)

    assert caught.value.field == "turns"
    assert records.append_turns(TENANT, USER, turns=turns[:11]).hist_seq == 11


def test_append_turns__at_once_leaves_no_gap_and_no_duplicate(records: Records) -> None:
    def append(writer: int) -> None:
        for batch in range(4):
            own = f"{writer}-{batch}"
            records.append_turns(TENANT, USER, turns=[said(f"{own}-a"), said("shared"), said(f"{own}-b")])

    at_once(append)

    turns = records.turns_from(TENANT, USER, first_seq=1)
    expected = 2 * 4 * WRITERS + 1
    assert [turn.seq for turn in turns] == list(range(1, expected + 1))
    assert len({turn.turn_id for turn in turns}) == expected
    assert records.read_user_state(TENANT, USER).hist_seq == expected
    positions = {turn.turn_id: turn.seq for turn in turns}
    assert all(positions[f"{w}-{b}-a"] < positions[f"{w}-{b}-b"] for w in range(WRITERS) for b in range(4))


def test_turns_and_preferences__at_once_do_not_lose_each_other(records: Records) -> None:
    def write(writer: int) -> None:
        records.append_turns(TENANT, USER, turns=[said(f"t-{writer}")])
        records.set_preference(TENANT, USER, key=f"k{writer}", value=writer, now=NOW)
        records.delete_preference(TENANT, USER, key=f"k{writer}", now=NOW)

    at_once(write)

    assert records.read_user_state(TENANT, USER) == UserState(
        forget_ver=WRITERS, pref_ver=2 * WRITERS, hist_seq=WRITERS
    )


def test_versions__read_before_the_rows_are_never_ahead_of_them(records: Records) -> None:
    def write_or_read(worker: int) -> None:
        for step in range(6):
            if worker % 2:
                records.append_turns(TENANT, USER, turns=[said(f"{worker}-{step}")])
                records.set_preference(TENANT, USER, key=f"k{worker}", value=step, now=NOW)
            else:
                state = records.read_versions(SCOPE).user
                turns = records.turns_from(TENANT, USER, first_seq=1)
                preferences = records.list_preferences(TENANT, USER)
                assert len([turn for turn in turns if turn.seq <= state.hist_seq]) == state.hist_seq
                assert max([preference.version for preference in preferences], default=0) >= state.pref_ver

    at_once(write_or_read)

    assert records.read_user_state(TENANT, USER) == UserState(pref_ver=24, hist_seq=24)


def test_newest_turns__gives_the_last_ones_oldest_first(records: Records) -> None:
    records.append_turns(TENANT, USER, turns=[said(f"t-{number}") for number in range(1, 13)])

    assert [turn.seq for turn in records.newest_turns(TENANT, USER, limit=3)] == [10, 11, 12]
    assert records.newest_turns(TENANT, USER, limit=0) == ()


def test_turns_from__gives_the_rest_oldest_first(records: Records) -> None:
    records.append_turns(TENANT, USER, turns=[said(f"t-{number}") for number in range(1, 13)])

    assert [turn.seq for turn in records.turns_from(TENANT, USER, first_seq=10)] == [10, 11, 12]
    assert records.turns_from(TENANT, USER, first_seq=13) == ()
    assert len(records.turns_from(TENANT, USER, first_seq=0)) == 12


# --- sessions ---------------------------------------------------------------------------------------------------------
def test_create_session__a_known_id_gives_the_first_record(records: Records) -> None:
    first = records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)

    again = records.create_session(SCOPE, warm=False, now=NOW + 1, expires_at=LATER + 1)

    assert first == SessionRecord(SESSION, AGENT, warm=True, created_at=NOW, expires_at=LATER)
    assert again == first


def test_create_session__another_agents_live_id_is_a_conflict(records: Records) -> None:
    first = records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)
    other = Scope(TENANT, USER, AgentId("sales"), SESSION)

    with pytest.raises(SessionTakenError):
        records.create_session(other, warm=True, now=NOW, expires_at=LATER)

    assert records.read_versions(SCOPE).session == first


def test_create_session__an_expired_one_is_replaced_and_nothing_of_it_is_kept(records: Records) -> None:
    records.create_session(SCOPE, warm=True, now=NOW, expires_at=NOW + 0.25)
    records.put_frozen(SCOPE, frozen(5), expires_at=NOW + 0.25)
    other = Scope(TENANT, USER, AgentId("sales"), SESSION)

    record = records.create_session(other, warm=False, now=NOW + 0.25, expires_at=LATER)

    assert record == SessionRecord(SESSION, other.agent, warm=False, created_at=NOW + 0.25, expires_at=LATER)
    assert records.read_versions(other).session == record
    assert records.read_frozen(other) is None


def test_create_session__a_repeated_call_keeps_what_was_frozen(records: Records) -> None:
    records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)
    records.put_frozen(SCOPE, frozen(), expires_at=LATER)

    records.create_session(SCOPE, warm=True, now=NOW, expires_at=LATER)

    assert records.read_frozen(SCOPE) == frozen()


def test_create_session__at_once_all_get_one_record(records: Records) -> None:
    made: list[SessionRecord] = []

    at_once(lambda n: made.append(records.create_session(SCOPE, warm=True, now=NOW + n, expires_at=LATER)))

    assert len(set(made)) == 1
    assert records.list_sessions(TENANT, USER, now=NOW) == (made[0],)


def test_list_sessions__gives_the_live_ones_sorted(records: Records) -> None:
    for number, name in enumerate(("s-b", "s-c", "S-a", "s-a")):
        scope = Scope(TENANT, USER, AGENT, SessionId(name))
        records.create_session(scope, warm=True, now=NOW, expires_at=NOW + 10 * number)

    live = records.list_sessions(TENANT, USER, now=NOW + 10)

    assert [record.session for record in live] == ["S-a", "s-a"]


# --- frozen records ---------------------------------------------------------------------------------------------------
def test_put_frozen__the_first_of_a_generation_wins(records: Records) -> None:
    first = records.put_frozen(SCOPE, frozen(first_seq=1), expires_at=LATER)

    second = records.put_frozen(SCOPE, frozen(first_seq=2), expires_at=LATER)

    assert first == frozen(first_seq=1)
    assert second == first == records.read_frozen(SCOPE)


def test_put_frozen__a_later_generation_replaces_and_an_earlier_does_not(records: Records) -> None:
    records.put_frozen(SCOPE, frozen(0), expires_at=LATER)

    assert records.put_frozen(SCOPE, frozen(2), expires_at=LATER) == frozen(2)
    assert records.put_frozen(SCOPE, frozen(1), expires_at=LATER) == frozen(2)


def test_put_frozen__one_past_its_life_gives_way_to_the_next_generation(records: Records) -> None:
    records.put_frozen(SCOPE, frozen(0), expires_at=NOW - 1000)

    assert records.put_frozen(SCOPE, frozen(1), expires_at=LATER) == frozen(1)


def test_put_frozen__at_once_all_get_one_winner(records: Records) -> None:
    winners: list[Frozen] = []

    at_once(lambda n: winners.append(records.put_frozen(SCOPE, frozen(first_seq=n), expires_at=LATER)))

    assert len(set(winners)) == 1
    assert records.read_frozen(SCOPE) == winners[0]


def test_read_frozen__a_large_preference_set_comes_back_whole(records: Records) -> None:
    preferences = tuple(Preference(f"key-{n:04d}", f"{STRANGE_TEXT} {n}" * 5, n, NOW) for n in range(2000))

    records.put_frozen(SCOPE, frozen(preferences=preferences), expires_at=LATER)

    kept = records.read_frozen(SCOPE)
    assert kept is not None
    assert kept.preferences == preferences


def test_read_frozen__sessions_do_not_share(records: Records) -> None:
    records.put_frozen(SCOPE, frozen(), expires_at=LATER)

    assert records.read_frozen(Scope(TENANT, USER, AGENT, SessionId("s-2"))) is None
