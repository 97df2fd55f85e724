"""The cache, and that it is absent by default."""

from typing import TYPE_CHECKING

import pytest

from infra import topology
from preheat import names
from tests.infra.assembly import Assembly

if TYPE_CHECKING:
    from tests.servers import RunningValkey


def test_cache__is_not_there_unless_asked_for(plain: Assembly) -> None:
    kinds = {one["Type"] for template in plain.templates.values() for one in template["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith(("AWS::ElastiCache::", "AWS::EC2::"))]


def test_cache__is_serverless_valkey_with_a_cap_on_its_bill(full: Assembly) -> None:
    (cache,) = full.properties("AWS::ElastiCache::ServerlessCache")
    assert (cache["Engine"], cache["ServerlessCacheName"]) == ("valkey", "preheat-prod")
    assert cache["CacheUsageLimits"]["DataStorage"]["Maximum"] > 0
    assert cache["CacheUsageLimits"]["ECPUPerSecond"]["Maximum"] >= 1000
    assert len(cache["SubnetIds"]) == 2


def test_cache__is_entered_by_iam_as_its_one_user(full: Assembly) -> None:
    (user,) = full.properties("AWS::ElastiCache::User")
    (group,) = full.properties("AWS::ElastiCache::UserGroup")
    assert user["AuthenticationMode"] == {"Type": "iam"}
    assert user["UserId"] == user["UserName"]
    assert "-@dangerous" in user["AccessString"].split()
    assert group["UserIds"] == [{"Ref": name} for name in full.resources("AWS::ElastiCache::User")]


def test_cache__every_function_may_connect_and_knows_how(full: Assembly) -> None:
    (user,) = full.properties("AWS::ElastiCache::User")
    for function in topology.FUNCTIONS:
        variables = full.function(function.folder)["Environment"]["Variables"]
        assert str(variables[names.ENV_CACHE_URL]).startswith("{'Fn::Join': ['', ['valkeys://'")
        assert variables[names.ENV_CACHE_CLUSTER] == "true"
        assert variables[names.ENV_CACHE_IAM_USER] == user["UserId"]
        assert variables[names.ENV_CACHE_NAME] == "preheat-prod"
        connecting = full.allowed(function.folder)["elasticache:Connect"]
        assert connecting.count("Fn::ImportValue") == 2


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("CLUSTER SLOTS", True),
        ("COMMAND INFO", True),
        ("CLIENT SETINFO LIB-NAME x", True),
        ("MGET k", True),
        ("EVALSHA 0 1 k", True),
        ("EVAL script 1 k", True),
        ("SET k v PX 10", True),
        ("DEL k", True),
        ("KEYS *", False),
        ("FLUSHALL", False),
        ("CONFIG GET maxmemory", False),
        ("ACL LIST", False),
    ],
)
def test_cache__its_user_may_do_what_a_store_does_and_no_more(
    full: Assembly, valkey_server: "RunningValkey", command: str, *, allowed: bool
) -> None:
    (user,) = full.properties("AWS::ElastiCache::User")
    valkey_server.ask("ACL", "SETUSER", "functions", *user["AccessString"].split())
    answer = valkey_server.ask("ACL", "DRYRUN", "functions", *command.split())
    assert (answer == b"OK") is allowed
