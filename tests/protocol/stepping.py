"""Real code taken one step at a time: a flight stops before each call of a port until it is told to go on."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Generic, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class _CrashError(BaseException):
    """Ends a flight as the end of its process would: nothing of ours catches it."""


class Flight(Generic[Result]):
    """One use case at work in a thread of its own that only ever runs while the test waits for it.

    Attributes:
        made: The calls of ports that it has made, or is about to make.
        done: Whether it has ended.
        crashed: Whether it was ended from outside.
        error: What ended it, unless it returned or crashed.
        returned: What it returned.
    """

    def __init__(self) -> None:
        self.made: list[str] = []
        self.done = False
        self.error: Exception | None = None
        self.returned: Result | None = None
        self.crashed = False
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)

    def take_off(self, work: Callable[[], Result]) -> None:
        """Run up to the first call of a port."""
        threading.Thread(target=self._fly, args=(work,), daemon=True).start()
        self._stopped.acquire()

    def advance(self) -> None:
        """Make the call that it is about to make and run up to the next one."""
        if not self.done:
            self._go.release()
            self._stopped.acquire()

    def crash(self) -> None:
        """End it before the call that it is about to make."""
        self.crashed = True
        self.advance()

    def pause(self, call: str) -> None:
        """Stop, in the flight's own thread, until it is told to go on."""
        self.made.append(call)
        self._stopped.release()
        self._go.acquire()
        if self.crashed:
            raise _CrashError

    def _fly(self, work: Callable[[], Result]) -> None:
        try:
            self.returned = work()
        except _CrashError:
            pass
        except Exception as error:  # noqa: BLE001  # the test looks at it in its own thread
            self.error = error
        self.done = True
        self._stopped.release()


class Stepped:
    """Anything whose calls are the steps of a flight."""

    def __init__(self, target: object, pause: Callable[[str], None]) -> None:
        self._target = target
        self._pause = pause

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._target, name)

        def call(*positional: object, **named: object) -> object:
            self._pause(name)
            return method(*positional, **named)

        return call


class InlineExecutor(Executor):
    """Makes calls in the thread that asks: at once, or when the result is wanted. Both orders happen in threads, too."""

    def __init__(self, *, late: bool) -> None:
        self._late = late

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Return the call's outcome, to come or there."""
        future = _LateFuture(lambda: fn(*args, **kwargs))
        if not self._late:
            future.settle()
        return future


class _LateFuture(Future[Result]):
    """Makes its call when its result is first asked for."""

    def __init__(self, call: Callable[[], Result]) -> None:
        super().__init__()
        self._call = call

    def settle(self) -> None:
        try:
            self.set_result(self._call())
        except Exception as error:  # noqa: BLE001  # raised again where the result is asked for
            self.set_exception(error)

    def result(self, timeout: float | None = None) -> Result:
        if not self.done():
            self.settle()
        return super().result(timeout)
