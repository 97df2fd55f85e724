"""What the records in memory hold of one user."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from preheat import keys
from preheat.history import Turn
from preheat.ports import NewTurn, TurnPage
from preheat.preference_set import PreferenceSet
from preheat.rows import counters_after, preference_document
from preheat.session import SessionId, SessionRecord
from preheat.stamp import Frozen, UserState


@dataclass(slots=True)
class UserRows:
    """One user's rows. `turns` are numbered without gaps from the oldest that is left."""

    state: UserState = field(default_factory=UserState)
    preferences: PreferenceSet = field(default_factory=PreferenceSet)
    turns: list[Turn] = field(default_factory=list)
    turn_ids: set[str] = field(default_factory=set)
    sessions: dict[SessionId, SessionRecord] = field(default_factory=dict)
    frozen: dict[SessionId, Frozen] = field(default_factory=dict)

    def keep(self, after: PreferenceSet) -> UserState:
        """Take over a changed preference set; return the counters, which move with it.

        Raises:
            InvalidInputError: the table could not hold it.
        """
        preference_document(after)
        self.state = counters_after(self.state, self.preferences, after)
        self.preferences = after
        return self.state

    def page(self, *, after: int, limit: int) -> TurnPage:
        """Return at most `limit` turns after the one numbered `after`."""
        rest = [turn for turn in self.turns if turn.seq > after]
        shown = tuple(rest[:limit])
        return TurnPage(shown, shown[-1].seq if shown and len(rest) > limit else None)

    def sort_keys(self) -> Iterator[str]:
        """Return the keys that the rows would have in a table, the counters' left out."""
        if self.preferences != PreferenceSet():
            yield keys.PREFERENCES
        yield from (keys.turn_sort(turn.seq) for turn in self.turns)
        yield from map(keys.turn_id_sort, self.turn_ids)
        yield from map(keys.session_sort, self.sessions)
        yield from map(keys.frozen_sort, self.frozen)


def numbered(seq: int, turn: NewTurn) -> Turn:
    """Return a turn as the log holds it."""
    return Turn(seq, turn.turn_id, turn.session, turn.role, turn.content, turn.tool_calls, turn.tool_call_id)
