"""What Lambda does around a handler: loads it once, gives it a context, passes JSON in and out, one call at a time."""

import importlib
import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from infra.local.addresses import ACCOUNT_ID, REGION
from infra.topology import Function


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The second argument of a handler, with the names that Lambda gives it.

    Attributes:
        deadline: `time.monotonic()` at which Lambda would end the invocation.
    """

    function_name: str
    memory_limit_in_mb: str
    deadline: float
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    identity: None = None
    client_context: None = None

    @property
    def invoked_function_arn(self) -> str:
        """ARN by which the function was called."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        """CloudWatch's log group of the function."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        """CloudWatch's log stream of the environment."""
        return "local"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function's timeout, never below 0."""
        return max(0, round((self.deadline - time.monotonic()) * 1000))


Handler = Callable[[object, LambdaContext], object]


class InvocationError(Exception):
    """The function raised, or returned what is no JSON. The cause is chained."""


class OverrunError(InvocationError):
    """The function took longer than its timeout."""

    def __init__(self, function: Function) -> None:
        super().__init__(f"{function.folder} ran longer than {function.timeout_s} s")


class ExecutionEnvironment:
    """One loaded handler.

    It runs one invocation at a time, as Lambda promises: handlers and the libraries under them keep the current
    invocation in module variables.
    """

    def __init__(self, function: Function, handler: Handler) -> None:
        self.function = function
        self._handler = handler
        self._free = threading.Lock()

    @classmethod
    def load(cls, function: Function, *, package: str) -> "ExecutionEnvironment":
        """Import `<package>.<folder>.handler` and return an environment with its `handler`."""
        return cls(function, load_attribute(function, "handler", package=package))

    def invoke(self, event: object) -> object:
        """Call the handler with `event` and return its response, both as they look after a passage through JSON.

        A handler that overruns its timeout cannot be ended in its thread: it is waited for, and counts as failed.

        Raises:
            InvocationError: the invocation failed.
            OverrunError: it took longer than the function's timeout.
        """
        payload = json.loads(json.dumps(event))
        with self._free:
            context = LambdaContext(
                function_name=self.function.folder,
                memory_limit_in_mb=str(self.function.memory_mb),
                deadline=time.monotonic() + self.function.timeout_s,
            )
            try:
                response = json.loads(json.dumps(self._handler(payload, context)))
            except Exception as error:  # this is Lambda's own boundary: whatever a handler raises fails one invocation
                raise InvocationError(f"{self.function.folder} failed with {type(error).__name__}") from error
            if time.monotonic() > context.deadline:
                raise OverrunError(self.function)
            return response


def load_attribute(function: Function, name: str, *, package: str) -> Handler:
    """Return `name` of the function's handler module.

    Raises:
        ImportError: there is no such module, or nothing callable of that name in it.
    """
    module = importlib.import_module(f"{package}.{function.folder}.handler")
    value = getattr(module, name, None)
    if not callable(value):
        raise ImportError(f"{module.__name__} has no {name} to call")  # noqa: TRY004 - the module is what is wrong
    return value  # type: ignore[no-any-return]  # the module is the caller's
