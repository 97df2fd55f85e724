"""Recall on arrival: what is found, what never is, and never over the budget."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.additions import Chunk
from preheat.budget import count_tokens
from preheat.facts import Fact
from preheat.memory_index import MemoryIndex
from preheat.passages import Passage
from preheat.recall import CONTINUE_RECENCY, Tuning, recall, recall_documents
from preheat.recalled import Recalled, render
from tests.preheat.material import assistant, few, numbered, user
from tests.preheat.memories import ANA, FIRST, Life, empty, grown, lives, retired, vector

ROOM = 10_000
QUERIES = ("pottery on Mondays", "Rita and the rain", "bank", "東京", "what about it?", "zebra")


def _recall(index: MemoryIndex, query: str, *, max_tokens: int = ROOM) -> Recalled:
    return recall(index, query, query_vector=vector(query), max_tokens=max_tokens)


def _ids(chosen: tuple[Passage, ...]) -> list[str]:
    return [one.passage_id for one in chosen]


def _seqs(recalled: Recalled) -> list[int]:
    return [one.position for one in recalled.turns]


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("When is my pottery course?", "pottery"),
        ("who went hiking with me", "hiking"),
        ("Which project am I working on?", "atlas"),
    ],
)
def test_recall__finds_the_fact_and_the_turns_that_the_message_calls_for(query: str, fact: str) -> None:
    found = _recall(ANA.index(), query)

    assert found.facts[0].passage_id == fact


def test_recall__a_turn_is_found_by_what_stands_next_to_it() -> None:
    talk = numbered(
        [
            user(0, "which museum shall I see in Porto?"),
            assistant(0, "Serralves."),
            *(user(0, f"n {n}") for n in range(9)),
        ]
    )
    found = _recall(grown(empty(), turns=talk), "museum in Porto", max_tokens=60)

    assert _seqs(found)[:2] == [1, 2]


def test_recall__half_the_budget_goes_to_facts_and_half_to_turns() -> None:
    turns = numbered([user(0, f"note {n} on pottery and glazes of all kinds") for n in range(60)])
    facts = [Fact(f"f{n}", f"Pottery note {n} is about glazes of all kinds.", (n + 1,)) for n in range(30)]
    found = _recall(grown(empty(), turns=turns, facts=facts), "pottery", max_tokens=400)

    spent_on_facts = sum(one.tokens for one in found.facts)
    spent_on_turns = sum(one.tokens for one in found.turns)
    assert 150 < spent_on_facts <= 200
    assert 170 < spent_on_turns <= 220


def test_recall__facts_take_what_turns_leave() -> None:
    facts = [Fact(f"f{n}", f"Pottery note {n} is about glazes of all kinds.") for n in range(60)]
    found = _recall(grown(empty(), facts=facts), "pottery", max_tokens=400)

    assert found.tokens > 370
    assert len(set(_ids(found.facts))) == len(found.facts)


@few
@given(lives(), st.sampled_from(QUERIES), st.integers(0, 300))
def test_recall__never_takes_more_than_the_budget(life: Life, query: str, max_tokens: int) -> None:
    found = _recall(life.index(), query, max_tokens=max_tokens)

    assert count_tokens(render(found)) <= found.tokens <= max_tokens


@few
@given(lives(), st.sampled_from(QUERIES), st.sets(st.integers(1, 14)))
def test_recall__no_turn_is_told_twice_nor_shown_when_the_model_sees_it_anyway(
    life: Life, query: str, window: set[int]
) -> None:
    found = recall(life.index(), query, query_vector=vector(query), max_tokens=ROOM, exclude_seqs=window)

    told = {seq for one in found.facts for seq in one.sources}
    assert len(set(_seqs(found))) == len(found.turns)
    assert not told & set(_seqs(found))
    assert not window & set(_seqs(found))
    assert all(not one.sources or set(one.sources) - window for one in found.facts)


@few
@given(lives(), st.sampled_from(QUERIES))
def test_recall__what_no_longer_holds_is_never_shown_nor_the_turns_that_told_only_that(life: Life, query: str) -> None:
    gone = [fact for fact in life.facts if fact.retired]
    holding = {seq for fact in life.facts if not fact.retired and fact.text.strip() for seq in fact.sources}

    found = _recall(life.index(), query)

    assert not {fact.fact_id for fact in gone} & set(_ids(found.facts))
    assert not {seq for fact in gone for seq in fact.sources} - holding & set(_seqs(found))


def test_recall__fifty_outdated_facts_take_no_room_from_the_one_that_holds() -> None:
    old = [retired(Fact(f"old{n}", f"Ana works on project {n}.", (n + 1,))) for n in range(50)]
    turns = numbered([user(0, f"now I work on project {n}") for n in range(51)])
    index = grown(empty(), turns=turns, facts=[*old, Fact("new", "Ana works on project 50.", (51,))])

    found = _recall(index, "which project do I work on?", max_tokens=60)

    assert _ids(found.facts) == ["new"]
    assert found.turns == ()


@few
@given(lives(), lives(), st.sampled_from(QUERIES))
def test_recall__two_users_never_meet(ana: Life, ben: Life, query: str) -> None:
    marked = replace(
        ben,
        turns=tuple(replace(turn, content=f"ben: {turn.content}") for turn in ben.turns),
        facts=tuple(replace(fact, text=f"ben: {fact.text}") for fact in ben.facts),
    )

    ours = _recall(ana.index("T#acme#U#ana"), query)
    theirs = _recall(marked.index("T#acme#U#ben"), query)

    assert not any(one.text.startswith("ben:") for one in ours.facts + ours.turns)
    assert all(one.text.startswith("ben:") for one in theirs.facts + theirs.turns)


@few
@given(lives(), st.sampled_from(QUERIES), st.data())
def test_recall__same_memory_gives_the_same_bytes_however_it_was_built(
    life: Life, query: str, data: st.DataObject
) -> None:
    half = data.draw(st.integers(0, len(life.turns)))
    pieces = grown(empty(), turns=life.turns[half:], facts=life.facts, said_at=life.said_at)
    pieces = grown(pieces, turns=life.turns[:half], said_at=life.said_at)

    assert render(_recall(pieces, query, max_tokens=150)) == render(_recall(life.index(), query, max_tokens=150))


def test_recall__facts_that_the_model_sees_anyway_are_left_out() -> None:
    query = "pottery course"
    found = recall(ANA.index(), query, query_vector=vector(query), max_tokens=ROOM, exclude_facts=["pottery", "hiking"])

    assert _ids(found.facts) == ["atlas"]


def test_recall__same_fact_under_two_ids_is_shown_once() -> None:
    index = grown(empty(), facts=[Fact("a", "Likes tea."), Fact("b", "Likes tea.")])

    assert len(_recall(index, "tea").facts) == 1


@pytest.mark.parametrize("query", ["", "  \n", "thanks!", "OK, great - thank you so much", "hi"])
def test_recall__small_talk_looks_for_nothing(query: str) -> None:
    found = recall(ANA.index(), query, query_vector=None, max_tokens=ROOM)

    assert (found.facts, found.turns, found.tokens) == ((), (), 0)
    assert "small talk" in found.why


def test_recall__a_message_to_go_on_brings_the_newest() -> None:
    turns = numbered([user(0, f"step {n} is done", session=FIRST) for n in range(60)])
    index = grown(empty(), turns=turns)

    found = recall(index, "go on", query_vector=None, max_tokens=80, recency=CONTINUE_RECENCY)

    assert _seqs(found) == list(range(60, 60 - len(found.turns), -1))
    assert found.turns


def test_recall__without_an_embedding_words_decide_and_it_is_said() -> None:
    found = recall(ANA.index(), "pottery course", query_vector=None, max_tokens=ROOM)

    assert found.facts[0].passage_id == "pottery"
    assert found.why.endswith("by words alone")


def test_recall__finds_words_inside_text_without_spaces() -> None:
    turns = [user(0, text) for text in ("我住在北京 喜欢吃辣", "明天要去上海开会", "今天天气很好")]
    index = grown(empty(), turns=numbered(turns))

    assert _seqs(recall(index, "上海的会议", query_vector=None, max_tokens=60))[0] == 2


def test_recall__of_nobody_known_is_empty() -> None:
    found = _recall(empty(), "pottery")

    assert found == Recalled(why="0 of 0 facts and 0 of 0 turns, by words and meaning")
    assert render(found) == ""


def test_recall__an_endless_message_is_known_by_its_head_and_tail() -> None:
    noise = "lorem ipsum " * 100_000

    found = recall(ANA.index(), f"pottery {noise} hiking", query_vector=None, max_tokens=ROOM)

    assert set(_ids(found.facts)[:2]) == {"pottery", "hiking"}


def test_recall__weights_decide_what_comes_first() -> None:
    turns = numbered([user(0, "alpha alpha"), *(user(0, f"beta {n}") for n in range(5))])
    index = grown(empty(), turns=turns)
    by_meaning = Tuning(words=0.0, near=0.0, second_look=0.0)

    found = recall(index, "alpha", query_vector=vector("beta"), max_tokens=ROOM, tuning=by_meaning)

    assert _seqs(found)[-1] == 1


def test_recall_documents__keeps_to_its_budget_and_shows_titles() -> None:
    chunks = [
        *(Chunk(f"m{n}", "Manual", n, f"To reset the pump press button {n} twice.") for n in range(20)),
        *(Chunk(f"t{n}", "Terms", n, f"Clause {n} limits the liability of the seller.") for n in range(20)),
    ]
    query = "what is the liability of the seller?"

    found = recall_documents(grown(empty(), chunks=chunks), query, query_vector=vector(query), max_tokens=200)

    assert {one.group for one in found.documents} == {"Terms"}
    assert '"Terms"' in render(found).splitlines()
    assert count_tokens(render(found)) <= found.tokens <= 200


def test_recall_documents__small_talk_looks_for_nothing() -> None:
    index = grown(empty(), chunks=[Chunk("c", "Manual", 0, "thanks")])

    assert recall_documents(index, "thanks", query_vector=None, max_tokens=ROOM).documents == ()
