"""The rules of the protocol, each with a switch, and the mutants that show what each is for."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules hold. The defaults are the protocol; every other setting is a mutant.

    Attributes:
        row_and_counter: Written in one transaction, or one before the other.
        on_write: What a writer does to the cache before it acknowledges.
        reads_versions: Strongly consistent, or eventually.
        reads_first: What a builder reads first.
        serves: Only what carries the stamp read, or whatever the cache holds.
        builds: From the rows, or it takes what the cache holds until that has expired.
        put: Only if not older than what is stored, or always.
        corrects: A bundle that is renewed says at its tail what differs from its prefix.
        deletion: Makes the prefix be rebuilt, or is a correction like any change.
        put_frozen: The first of a generation stays, or the last one does.
        replaces_frozen: A record that does not serve the stamp gives way to the next generation.
        respects_newer: A record at later versions than those read is not replaced.
        refuses_deleted: Where the rows lack a key that the prefix holds, the counters are read again.
    """

    row_and_counter: Literal["together", "counter_first", "row_first"] = "together"
    on_write: Literal["nothing", "delete", "write_through"] = "nothing"
    reads_versions: Literal["strongly", "eventually"] = "strongly"
    reads_first: Literal["counters", "rows"] = "counters"
    serves: Literal["equal_stamps", "anything"] = "equal_stamps"
    builds: Literal["from_rows", "when_expired"] = "from_rows"
    put: Literal["not_older", "always"] = "not_older"
    corrects: bool = True
    deletion: Literal["rebuilds", "corrects"] = "rebuilds"
    put_frozen: Literal["first_wins", "last_wins"] = "first_wins"
    replaces_frozen: bool = True
    respects_newer: bool = True
    refuses_deleted: bool = True


PROTOCOL: Final = Rules()
