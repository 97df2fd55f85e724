"""One section: how it is written, and what it takes."""

from hypothesis import given

from preheat.history import Turn, exchanges
from preheat.prefill import prefix_messages
from preheat.sections import grown_turns, text_tokens, turn_messages
from tests.preheat.material import (
    NOW,
    Rows,
    agent,
    assistant,
    build,
    caller,
    few,
    logs,
    numbered,
    preference,
    result,
    section,
    texts,
    user,
)


@given(texts, texts)
def test_turn_messages__any_text_comes_back_from_its_line(asked: str, found: str) -> None:
    turns = numbered([user(0, asked), caller(0, "a"), result(0, "a", found)])

    messages = turn_messages(section(build(Rows(agent(), turns=turns)), "recent_turns"))

    assert [message["content"] for message in messages] == [asked, "", found]
    assert messages[1]["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "flights/search", "arguments": '{"origin":"OPO"}'}}
    ]
    assert messages[2]["tool_call_id"] == "a"


def test_section__says_what_it_takes_where_it_is_from_and_why() -> None:
    rows = Rows(agent(), (preference("seat", "aisle"),), numbered([user(0), assistant(0)]))

    for one in build(rows).sections:
        assert one.tokens > 0
        assert len(one.sha256) == 64
        assert one.versions == "a1.c1.f0.p1.h2"
        assert one.built_at == NOW
        assert one.why


def test_section__takes_its_text_as_the_model_reads_it_heading_and_all() -> None:
    bundle = build(Rows(agent(), (preference("seat", "aisle"),)), count=len)

    text = str(prefix_messages(bundle)[0]["content"])

    assert sum(one.tokens for one in bundle.sections) == len(text) + len("\n\n")


def test_text_tokens__of_a_section_that_is_not_written_are_none() -> None:
    assert text_tokens("preferences", "", count=len) == 0


@few
@given(logs(most=3), logs(most=2))
def test_grown_turns__are_the_section_of_all_turns(turns: tuple[Turn, ...], more: tuple[Turn, ...]) -> None:
    kept = [turn for exchange in exchanges((*turns, *more)) for turn in exchange]
    before = grown_turns(None, kept[:2], count=len, versions="h1", built_at=NOW - 1)

    grown = grown_turns(before if kept else None, kept[2:], count=len, versions="h2", built_at=NOW)

    assert grown == grown_turns(None, kept, count=len, versions="h2", built_at=NOW)
