"""Which tools a session starts with: by words and by use, in one order, and never none."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.history import Turn
from preheat.tools import Tool, block, catalog_hash, select
from tests.preheat.material import CATALOG, caller, catalogs, few, logs, numbered, result, tool, user

MANY = tuple(tool(f"server{n % 7}/do_{n:03d}", f"does thing {n}") for n in range(245))


def test_select__what_the_user_spoke_of_comes_first() -> None:
    chosen = select(CATALOG, [user(1, "which seat do I have on my flight?")], count=2, core=())

    assert chosen.names == ("flights/seat", "flights/search")
    assert chosen.scores == tuple(sorted(chosen.scores, reverse=True))


def test_select__what_the_user_used_comes_before_what_was_never_used() -> None:
    turns = numbered([user(0, "hello"), caller(0, "a", name="bank/transfer"), result(0, "a")])

    assert select(CATALOG, turns, count=1, core=()).names == ("bank/transfer",)


def test_select__knows_a_tool_by_the_name_that_engines_use() -> None:
    turns = numbered([user(0, "hello"), caller(0, "a", name="bank__transfer"), result(0, "a")])

    assert select(CATALOG, turns, count=1, core=()).names == ("bank/transfer",)


def test_select__of_an_unknown_user_still_gives_tools() -> None:
    chosen = select(CATALOG, [], count=4, core=())

    assert chosen.names == tuple(sorted(one.name for one in CATALOG)[:4])


def test_select__does_not_choose_what_is_loaded_anyway() -> None:
    chosen = select(CATALOG, [user(1, "find flights")], count=10, core=("flights/search",))

    assert "flights/search" not in chosen.names
    assert len(chosen.names) == len(CATALOG) - 1


@pytest.mark.parametrize("count", [0, 1, 128, 245, 500])
def test_select__never_over_the_cap(count: int) -> None:
    chosen = select(MANY, [user(1, "do thing 17")], count=count, core=())

    assert len(chosen.names) == min(count, len(MANY))
    assert len(chosen.scores) == len(chosen.names)


@pytest.mark.parametrize(("catalog", "count"), [((), 3), (CATALOG[:1], 0)])
def test_select__nothing_to_choose_is_said(catalog: tuple[Tool, ...], count: int) -> None:
    chosen = select(catalog, [], count=count, core=())

    assert chosen.names == ()
    assert chosen.why == "no tools beside the core ones"


@few
@given(catalogs(), logs(most=3), st.randoms(use_true_random=False))
def test_select__order_of_the_catalogue_changes_nothing(
    catalog: tuple[Tool, ...], turns: tuple[Turn, ...], random: Random
) -> None:
    shuffled = random.sample(catalog, len(catalog))

    assert select(shuffled, turns, count=4, core=()) == select(catalog, turns, count=4, core=())


def test_select__says_on_what_it_chose() -> None:
    turns = numbered([user(0, "secret plans"), caller(0, "a"), result(0, "a")])

    why = select(CATALOG, turns, count=2, core=("notes/write",)).why

    assert why == "top 2 of 5 by match with 1 messages and 1 past calls"


@few
@given(catalogs(), st.randoms(use_true_random=False))
def test_block__servers_listed_in_any_order_give_the_same_bytes(catalog: tuple[Tool, ...], random: Random) -> None:
    shuffled = random.sample(catalog, len(catalog))

    assert block(shuffled) == block(catalog)
    assert catalog_hash(shuffled) == catalog_hash(catalog)


def test_block__is_one_line_of_json_per_tool_in_the_form_that_engines_accept() -> None:
    lines = block([tool("b/two", "line\nbreak"), tool("a/one", 'says "hi"')]).split("\n")

    assert lines == [
        r'{"name":"a__one","description":"says \"hi\"","parameters":{"properties":{},"type":"object"}}',
        r'{"name":"b__two","description":"line\nbreak","parameters":{"properties":{},"type":"object"}}',
    ]


@pytest.mark.parametrize(
    "drifted",
    [
        replace(CATALOG[0], description="Show the balance, and close the account"),
        tool("bank/balance", CATALOG[0].description, account="Which account", currency="In which currency"),
        replace(CATALOG[0], name="bank/balances"),
    ],
    ids=["description", "new parameter", "name"],
)
def test_catalog_hash__any_drift_of_a_tool_shows(drifted: Tool) -> None:
    assert catalog_hash((drifted, *CATALOG[1:])) != catalog_hash(CATALOG)
