"""What a run says while it goes on: one moving line in a terminal, one line a step anywhere else."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text


class Narrator:
    """Tells of a run on a console, for the time of its context. Steps are counted, words between them are passing."""

    def __init__(self, console: Console) -> None:
        """Say nothing yet."""
        self.console = console
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._about = ""

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
                refresh_per_second=4,
            )
            self._bar.start()
            self._task = self._bar.add_task("starting", total=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._started

    def expect(self, steps: int) -> None:
        """Say how many steps there will be."""
        if self._bar is not None:
            self._bar.update(self._task, total=steps)

    def begin(self, about: str) -> None:
        """Say which step begins."""
        self._about = about
        self.tell("")

    def tell(self, words: str) -> None:
        """Say what is being done now."""
        line = f"{self._about}: {words}" if words else self._about
        if self._bar is not None:
            self._bar.update(self._task, description=line)
        else:
            self.console.print(Text(f"{self.elapsed_s:6.1f} s  {line}", style="dim"), soft_wrap=True)

    def done(self, words: str) -> None:
        """Say how a step ended, for good."""
        self.console.print(Text.assemble(("✓ ", "green"), words), soft_wrap=True)
        if self._bar is not None:
            self._bar.advance(self._task)
