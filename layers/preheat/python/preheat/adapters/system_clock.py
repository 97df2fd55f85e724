"""The machine's clock."""

import time


class SystemClock:
    """Epoch seconds for what is stored, monotonic milliseconds for durations."""

    def now(self) -> float:
        """Return epoch seconds."""
        return time.time()

    def monotonic_ms(self) -> float:
        """Return milliseconds that only grow."""
        return time.perf_counter() * 1000
