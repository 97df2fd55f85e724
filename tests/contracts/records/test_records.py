"""The contract of `preheat.ports.Records`: versions, and whose rows are whose."""

from preheat.ports import Records
from preheat.session import AgentId, Scope, TenantId, UserId
from preheat.stamp import UserState
from tests.contracts.records.samples import (
    AGENT,
    LATER,
    NOW,
    PROFILE,
    SCOPE,
    SESSION,
    TENANT,
    TOOLS,
    USER,
    frozen,
    said,
)


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
