"""What every function has in common."""

from infra import topology
from preheat import names
from preheat.settings import from_env
from tests.infra.assembly import Assembly, Json


def _resolved(value: str | Json) -> str:
    """Return a variable's value with a letter for what CloudFormation fills in."""
    if isinstance(value, str):
        return value
    parts = value["Fn::Join"][1] if "Fn::Join" in value else ["xxx"]
    return "".join(part if isinstance(part, str) else "x" for part in parts)


def test_functions__are_those_of_the_topology_and_no_other(plain: Assembly, full: Assembly) -> None:
    for assembly in (plain, full):
        assert len(assembly.resources("AWS::Lambda::Function")) == len(topology.FUNCTIONS)
        for function in topology.FUNCTIONS:
            built = assembly.function(function.folder)
            assert (built["Timeout"], built["MemorySize"]) == (function.timeout_s, function.memory_mb)
            assert (built["Runtime"], built["Architectures"]) == ("python3.14", ["arm64"])


def test_asset__holds_the_functions_folder_where_it_is_imported_from(plain: Assembly) -> None:
    for function in topology.FUNCTIONS:
        asset = plain.asset(plain.function(function.folder)["Code"]["S3Key"])
        assert (asset / "functions" / function.folder / "handler.py").is_file()
        assert {path.name for path in asset.iterdir()} == {"functions"}
        assert {path.name for path in (asset / "functions").iterdir()} == {function.folder}
        assert not list(asset.rglob("__pycache__"))


def test_environment__names_what_the_settings_ask_for(plain: Assembly) -> None:
    for function in topology.FUNCTIONS:
        variables = plain.function(function.folder)["Environment"]["Variables"]
        assert {names.ENV_RECORDS_TABLE, names.ENV_WARM_TABLE, names.ENV_BUS, names.ENV_ENDPOINT_NAME} <= set(variables)
        assert (names.ENV_DEAD_LETTER_URL in variables) is (function.queue is not None)
        assert names.ENV_CACHE_URL not in variables


def test_environment__is_one_that_the_settings_accept(plain: Assembly, full: Assembly) -> None:
    for assembly in (plain, full):
        for function in topology.FUNCTIONS:
            variables = assembly.function(function.folder)["Environment"]["Variables"]
            settings = from_env({name: _resolved(value) for name, value in variables.items()})
            assert settings.cache_cluster is (assembly is full)
            assert (settings.cache_name, settings.inference_component) == (
                ("preheat-prod", "preheat-prod-model") if assembly is full else (None, None)
            )


def test_role__is_the_functions_own_and_has_no_managed_policy(plain: Assembly) -> None:
    roles = [plain.function(function.folder)["Role"]["Fn::GetAtt"][0] for function in topology.FUNCTIONS]
    assert len(set(roles)) == len(roles)
    assert all("ManagedPolicyArns" not in plain.resources("AWS::IAM::Role")[role]["Properties"] for role in roles)


def test_role__allows_no_action_everywhere_without_a_vpc(plain: Assembly) -> None:
    for function in topology.FUNCTIONS:
        for action, resource in plain.allowed(function.folder).items():
            assert "*" not in action
            assert resource != '"*"'


def test_role__in_a_vpc_only_its_network_interfaces_are_allowed_everywhere(full: Assembly) -> None:
    for function in topology.FUNCTIONS:
        everywhere = {action for action, resource in full.allowed(function.folder).items() if resource == '"*"'}
        assert everywhere == {
            "ec2:CreateNetworkInterface",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSubnets",
            "ec2:DeleteNetworkInterface",
            "ec2:AssignPrivateIpAddresses",
            "ec2:UnassignPrivateIpAddresses",
        }


def test_function__is_in_a_vpc_only_with_a_cache(plain: Assembly, full: Assembly) -> None:
    for function in topology.FUNCTIONS:
        assert "VpcConfig" not in plain.function(function.folder)
        assert len(full.function(function.folder)["VpcConfig"]["SubnetIds"]) == 2


def test_function__logs_are_its_own_and_end_and_x_ray_is_off(plain: Assembly) -> None:
    groups = plain.resources("AWS::Logs::LogGroup")
    for function in topology.FUNCTIONS:
        built = plain.function(function.folder)
        assert groups[built["LoggingConfig"]["LogGroup"]["Ref"]]["Properties"]["RetentionInDays"] == 30
        assert "TracingConfig" not in built
