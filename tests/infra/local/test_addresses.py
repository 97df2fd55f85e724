"""Where the parts of a stack listen."""

from infra.local.addresses import Addresses, queue_arn, rule_arn


def test_reserve__gives_four_different_ports() -> None:
    addresses = Addresses.reserve()
    assert len({addresses.aws, addresses.cache, addresses.model, addresses.gateway}) == 4


def test_urls__are_on_this_machine_alone() -> None:
    assert Addresses(aws=1, cache=2, model=3, gateway=4).urls == {
        "gateway": "http://127.0.0.1:4",
        "aws": "http://127.0.0.1:1",
        "model": "http://127.0.0.1:3",
        "cache": "valkey://127.0.0.1:2",
    }


def test_arns__have_the_shape_of_aws() -> None:
    assert queue_arn("q") == "arn:aws:sqs:us-east-1:123456789012:q"
    assert rule_arn("bus", "rule") == "arn:aws:events:us-east-1:123456789012:rule/bus/rule"
