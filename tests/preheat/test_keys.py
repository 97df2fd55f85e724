"""Keys hold what changes their value, and none of one user can be spelled by another."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from preheat import keys
from preheat.keys import WarmKey
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId

# Short ids that begin and end like each other: what a careless join would take for the same.
_ids = st.sampled_from(["a", "b", "ab", "a-b", "a@b", "a.b", "1", "11"])
_scopes = st.builds(Scope, _ids.map(TenantId), _ids.map(UserId), _ids.map(AgentId), _ids.map(SessionId))


def _all_of(scope: Scope) -> list[str]:
    return [
        keys.bundle_key(scope, model="m", renderer="r"),
        keys.receipt_key(scope, model="m", renderer="r"),
        keys.claim_key(scope, model="m", renderer="r", stamp="a1.c1.f0.p0.h0"),
        keys.user_partition(scope.tenant, scope.user),
        keys.agent_partition(scope.tenant, scope.agent),
    ]


@given(_scopes, _scopes)
def test_keys__of_two_scopes_are_never_the_same(one: Scope, other: Scope) -> None:
    shared = set(_all_of(one)[:3]) & set(_all_of(other)[:3])

    assert bool(shared) == (one == other)


@given(_scopes, _scopes)
def test_partitions__are_shared_only_by_the_same_user_or_agent(one: Scope, other: Scope) -> None:
    *_, user, agent = _all_of(one)
    *_, other_user, other_agent = _all_of(other)

    assert (user == other_user) == ((one.tenant, one.user) == (other.tenant, other.user))
    assert (agent == other_agent) == ((one.tenant, one.agent) == (other.tenant, other.agent))
    assert user not in (agent, other_agent)


@given(_scopes)
def test_warm_keys__of_one_user_share_one_hash_tag(scope: Scope) -> None:
    tags = {key[key.index("{") : key.index("}") + 1] for key in _all_of(scope)[:3]}

    assert tags == {f"{{T#{scope.tenant}#U#{scope.user}}}"}


@given(_scopes)
def test_owner_of__a_users_warm_keys_is_their_partition(scope: Scope) -> None:
    owners = {keys.owner_of(WarmKey(key)) for key in _all_of(scope)[:3]}

    assert owners == {keys.user_partition(scope.tenant, scope.user)}
    assert keys.index_key(*owners).count("{") == 1
    assert keys.owner_of(WarmKey(keys.index_key(*owners))) in owners


def test_owner_of__a_key_without_a_tag_is_itself() -> None:
    assert keys.owner_of(WarmKey("plain")) == "plain"


def test_row_kind__names_what_a_row_holds() -> None:
    made = [
        keys.PREFERENCES,
        keys.turn_sort(1),
        keys.turn_id_sort("x#y"),
        keys.session_sort(SessionId("x")),
        keys.frozen_sort(SessionId("x")),
        "FACT#1",
    ]

    assert [keys.row_kind(key) for key in made] == ["preferences", "turns", "turn_ids", "sessions", "frozen", "fact"]


def test_warm_keys__change_with_model_renderer_and_stamp() -> None:
    scope = Scope(TenantId("t"), UserId("u"), AgentId("a"), SessionId("s"))
    made = {
        keys.claim_key(scope, model=model, renderer=renderer, stamp=stamp)
        for model in ("m1", "m2")
        for renderer in ("r1", "r2")
        for stamp in ("a1.c1.f0.p0.h0", "a1.c1.f0.p1.h0")
    } | {
        kind(scope, model=model, renderer=renderer)
        for kind in (keys.bundle_key, keys.receipt_key)
        for model in ("m1", "m2")
        for renderer in ("r1", "r2")
    }

    assert len(made) == 16


def test_turn_sort__sorts_as_the_numbers_do() -> None:
    numbers = [1, 2, 9, 10, 99, 100, 12_345, 999_999_999_999]

    assert all(one < other for one, other in pairwise(map(keys.turn_sort, numbers)))


def test_sort_keys__of_different_kinds_do_not_meet() -> None:
    made = [
        keys.STATE,
        keys.PREFERENCES,
        keys.turn_sort(1),
        keys.turn_id_sort("x"),
        keys.session_sort(SessionId("x")),
        keys.frozen_sort(SessionId("x")),
        keys.blob_sort("x", 0),
    ]
    prefixes = (keys.PREFERENCES, keys.TURN_PREFIX, keys.SESSION_PREFIX, keys.blob_prefix("x"))

    assert len(set(made)) == len(made)
    assert all(sum(key.startswith(prefix) for key in made) == 1 for prefix in prefixes)


def test_blob_sort__keeps_the_parts_in_order() -> None:
    assert [keys.blob_sort("ab", part) for part in (0, 9, 10)] == sorted(
        keys.blob_sort("ab", part) for part in (0, 9, 10)
    )


def test_tenant_salt__is_the_tenants_own_and_tells_nothing() -> None:
    salts = {keys.tenant_salt(TenantId(name)) for name in ("acme", "acme2", "umbrella")}

    assert len(salts) == 3
    assert all(len(salt) == 16 and int(salt, 16) >= 0 for salt in salts)
    assert keys.tenant_salt(TenantId("acme")) in salts
