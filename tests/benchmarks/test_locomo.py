"""The benchmark of recall counts what the model would see, on conversations made here."""

import json
from pathlib import Path
from typing import Any

import pytest

from preheat.adapters.memory_embedder import MemoryEmbedder
from tests.benchmarks.locomo import (
    Conversation,
    build_index,
    check_budget,
    facts_tokens,
    full_tokens,
    joined,
    load_conversations,
    measure,
    read_conversation,
    time_recall,
)

EMBEDDER = MemoryEmbedder()
THINGS = ("pottery", "sailing", "chess", "baking", "juggling", "fencing", "archery", "origami", "karate", "surfing")
RECORD: dict[str, Any] = {
    "id": "made-1",
    "speakers": ["Ana", "Ben"],
    "turns": [
        {
            "id": f"D{session}:{number}",
            "session": session,
            "date": f"1:05 pm on {session} May, 2026",
            "speaker": speaker,
            "text": f"I tried {thing} at the club number {session}" if speaker == "Ana" else "How nice for you",
        }
        for session, thing in enumerate(THINGS, start=1)
        for number, speaker in ((1, "Ana"), (2, "Ben"))
    ],
    "observations": [{"session": 3, "speaker": "Ana", "fact": "Ana has tried chess.", "src": ["D3:1", "D99:9"]}],
    "qa": [
        {"q": "When did Ana go sailing?", "a": "2 May", "evidence": ["D2:1"], "category": 2},
        {"q": "Who likes chess, who likes karate?", "a": "Ana", "evidence": ["D3:1", "D9:1"], "category": 1},
        {"q": "Nothing to be found", "a": "", "evidence": [], "category": 4},
    ],
}


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    return read_conversation(RECORD)


def test_read_conversation__is_a_history_as_the_product_has_it(conversation: Conversation) -> None:
    first, second = conversation.turns[:2]

    assert (first.seq, first.role, first.content) == (1, "user", "Ana: I tried pottery at the club number 1")
    assert (second.seq, second.role, second.session) == (2, "assistant", "session-1")
    assert conversation.facts[0].sources == (5,)
    assert conversation.said_at[3] - conversation.said_at[1] == 86_400
    assert [question.evidence for question in conversation.questions] == [{3}, {5, 17}]


def test_load_conversations__reads_one_a_line(tmp_path: Path) -> None:

    (tmp_path / "locomo.jsonl").write_text(f"{json.dumps(RECORD)}\n\n{json.dumps(RECORD)}\n", encoding="utf-8")

    assert [one.name for one in load_conversations(tmp_path / "locomo.jsonl")] == ["made-1", "made-1"]


def test_measure__with_room_for_everything_all_evidence_is_seen(conversation: Conversation) -> None:
    measured = measure([(conversation, build_index(conversation, EMBEDDER))], EMBEDDER, max_tokens=5_000)

    assert (measured.share, measured.of_all_evidence) == (1.0, 1.0)
    assert measured.by_category == {"multi-hop": 1.0, "temporal": 1.0}


def test_measure__with_room_for_nothing_none_is_seen(conversation: Conversation) -> None:
    measured = measure([(conversation, build_index(conversation, EMBEDDER))], EMBEDDER, max_tokens=10)

    assert (measured.share, measured.of_all_evidence, measured.tokens) == (0.0, 0.0, 0.0)


def test_measure__a_fact_counts_through_its_source_turns(conversation: Conversation) -> None:
    index = build_index(conversation, EMBEDDER)

    measured = measure([(conversation, index)], EMBEDDER, max_tokens=100)

    assert measured.by_category["temporal"] == 1.0
    assert measured.by_category["multi-hop"] >= 0.5
    assert measured.tokens <= 100 < full_tokens(index)


def test_check_budget__passes_where_recall_keeps_to_it(conversation: Conversation) -> None:
    check_budget([(conversation, build_index(conversation, EMBEDDER))], EMBEDDER, max_tokens=100)


def test_joined__is_one_history_that_keeps_facts_with_their_turns(conversation: Conversation) -> None:
    both = joined([conversation, conversation, conversation], at_least_turns=30)

    assert [turn.seq for turn in both.turns] == list(range(1, 41))
    assert [fact.sources for fact in both.facts] == [(5,), (25,)]
    assert len(both.questions) == 4


def test_time_recall__times_every_question_once(conversation: Conversation) -> None:
    times_ms = time_recall(conversation, build_index(conversation, EMBEDDER), EMBEDDER, max_tokens=200)

    assert len(times_ms) == len(conversation.questions)
    assert min(times_ms) > 0


def test_facts_tokens__are_far_below_the_full_history(conversation: Conversation) -> None:
    index = build_index(conversation, EMBEDDER)

    assert facts_tokens(index) < full_tokens(index) / 4
