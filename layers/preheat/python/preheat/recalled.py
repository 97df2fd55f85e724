"""What was recalled for a message, and how the model sees it: quoted data under a heading of its own."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from preheat.memory_index import DOCUMENTS_TITLE, MEMORY_TITLE
from preheat.passages import Passage, Passages


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was chosen, best first.

    Attributes:
        facts: Chosen facts.
        turns: Chosen turns.
        documents: Chosen chunks of documents.
        tokens: What `render`'s text takes at most, by the index's counter.
        why: Why just these, in words without user text.
    """

    facts: tuple[Passage, ...] = ()
    turns: tuple[Passage, ...] = ()
    documents: tuple[Passage, ...] = ()
    tokens: int = 0
    why: str = ""


def render(recalled: Recalled) -> str:
    """Return what the model reads, oldest first under each day or title; empty when nothing was chosen.

    A fact is a line of its own, before the turns that told it; a turn stands after its role.
    """
    memory = (*recalled.facts, *recalled.turns)
    return "\n".join((*_block(MEMORY_TITLE, memory), *_block(DOCUMENTS_TITLE, recalled.documents)))


def _block(title: str, chosen: Iterable[Passage]) -> list[str]:
    under: dict[str, list[str]] = {}
    for one in sorted(chosen, key=lambda one: (one.position, one.label, one.passage_id)):
        under.setdefault(one.heading, [one.heading] if one.heading else []).append(one.line)
    return [title, *(line for lines in under.values() for line in lines)] if under else []


@dataclass(slots=True)
class Basket:
    """Takes passages under one title while there is room. `tokens` is what they take with their headings; 0 if none."""

    tokens: int = 0
    _headings: set[str] = field(default_factory=set)
    _texts: set[tuple[str, str, str]] = field(default_factory=set)

    def fill(self, shelf: Passages, ranked: Iterable[Passage], *, max_tokens: int) -> tuple[Passage, ...]:
        """Take what fits, in this order, the same text under one heading once; return what was taken.

        Args:
            shelf: Where the passages are from.
            ranked: Best first.
            max_tokens: What all that was taken so far may take together.
        """
        taken: list[Passage] = []
        room = max_tokens - (self.tokens or shelf.heading_tokens[shelf.title])
        for one in ranked:
            if room < shelf.smallest:
                break
            takes = one.tokens + (0 if one.heading in self._headings else shelf.heading_tokens[one.heading])
            text = (one.heading, one.label, one.text)
            if takes <= room and text not in self._texts:
                room -= takes
                self._headings.add(one.heading)
                self._texts.add(text)
                taken.append(one)
        self.tokens = max_tokens - room if taken else self.tokens
        return tuple(taken)
