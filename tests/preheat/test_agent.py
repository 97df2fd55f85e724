"""An agent's texts as the model reads them."""

import pytest

from preheat.agent import Profile
from tests.preheat.material import CATALOG, agent


@pytest.mark.parametrize(
    ("instructions", "domain_knowledge", "text"),
    [
        ("Be brief.\n", "", "Be brief."),
        ("Be brief.", " Refunds take 5 days. ", "Be brief.\n\nRefunds take 5 days."),
        (" ", "Refunds take 5 days.", "Refunds take 5 days."),
    ],
)
def test_text__is_instructions_then_domain_knowledge(instructions: str, domain_knowledge: str, text: str) -> None:
    assert Profile(instructions, domain_knowledge).text == text


def test_block__holds_the_tools_named_once_each_in_the_order_of_their_names() -> None:
    block = agent().block(["notes/write", "bank/balance", "notes/write", "not/there"])

    assert block.split("\n") == [tool.line() for tool in CATALOG if tool.name in {"bank/balance", "notes/write"}]
