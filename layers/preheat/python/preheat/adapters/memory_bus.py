"""The shipped fakes of bus, dead letters and clock."""

from collections.abc import Mapping
from dataclasses import dataclass

from preheat.errors import SourceUnavailableError


class MemoryBus:
    """Keeps what was published. While `down` is set it takes nothing."""

    def __init__(self) -> None:
        self.published: list[tuple[str, dict[str, object]]] = []
        self.down = False

    def publish(self, detail_type: str, detail: Mapping[str, object]) -> None:
        """Keep one event."""
        if self.down:
            raise SourceUnavailableError("the bus is down")
        self.published.append((detail_type, dict(detail)))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that was set aside."""

    body: str
    message_id: str
    source_queue: str
    code: str
    reason: str


class MemoryDeadLetters:
    """Keeps what was rejected."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []

    def reject(self, body: str, *, message_id: str, source_queue: str, code: str, reason: str) -> None:
        """Keep one record with its reason."""
        self.letters.append(DeadLetter(body, message_id, source_queue, code, reason))


class ManualClock:
    """A clock that stands still until it is moved. `seconds` is epoch seconds."""

    def __init__(self, seconds: float = 1_000_000.0) -> None:
        self.seconds = seconds

    def now(self) -> float:
        """Return the seconds set."""
        return self.seconds

    def monotonic_ms(self) -> float:
        """Return the same moment in milliseconds."""
        return self.seconds * 1000

    def sleep(self, seconds: float) -> None:
        """Move the clock instead of waiting."""
        self.seconds += seconds
