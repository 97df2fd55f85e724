"""The network: what gets in and out."""

from tests.infra.assembly import Assembly


def test_network__has_no_way_to_the_internet(full: Assembly) -> None:
    for kind in ("NatGateway", "InternetGateway", "EgressOnlyInternetGateway", "Route"):
        assert full.resources(f"AWS::EC2::{kind}") == {}


def test_network__reaches_just_what_the_functions_call(full: Assembly) -> None:
    services = {
        (one["VpcEndpointType"], str(one["ServiceName"]["Fn::Join"][1][-1]).removeprefix("."))
        for one in full.properties("AWS::EC2::VPCEndpoint")
    }
    assert services == {
        ("Gateway", "dynamodb"),
        ("Interface", "sqs"),
        ("Interface", "events"),
        ("Interface", "sagemaker.runtime"),
    }


def test_groups__only_functions_come_in_and_only_where_they_must(full: Assembly) -> None:
    groups = full.resources("AWS::EC2::SecurityGroup")
    (functions,) = (
        name for name, one in groups.items() if one["Properties"]["GroupDescription"].startswith("functions")
    )
    opened = {
        (groups[one["GroupId"]["Fn::GetAtt"][0]]["Properties"]["GroupDescription"], one["FromPort"], one["ToPort"])
        for one in full.properties("AWS::EC2::SecurityGroupIngress")
        if one["SourceSecurityGroupId"]["Fn::GetAtt"][0] == functions
    }
    assert opened == {("cache of preheat", 6379, 6380), ("interface endpoints of preheat", 443, 443)}
    assert len(opened) == len(full.properties("AWS::EC2::SecurityGroupIngress"))
    assert all("SecurityGroupIngress" not in one["Properties"] for one in groups.values())
