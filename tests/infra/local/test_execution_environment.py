"""What Lambda does around a handler."""

import threading
import time
from dataclasses import replace

import pytest

from infra.local.execution_environment import (
    ExecutionEnvironment,
    Handler,
    InvocationError,
    LambdaContext,
    OverrunError,
    load_attribute,
)
from infra.topology import FUNCTIONS
from preheat import names

(WARM_SESSION,) = (function for function in FUNCTIONS if function.folder == names.WARM_SESSION)
STANDINS = "tests.infra.local.standins"


def invoke(handler: Handler, event: object = None) -> object:
    return ExecutionEnvironment(WARM_SESSION, handler).invoke(event)


def test_invoke__event_and_response_pass_through_json() -> None:
    assert invoke(lambda event, _: {"seen": event, 1: (2,)}, {"a": (1, 2)}) == {"seen": {"a": [1, 2]}, "1": [2]}


def test_invoke__the_context_is_lambdas() -> None:
    seen: list[LambdaContext] = []
    invoke(lambda _, context: seen.append(context))
    (context,) = seen
    assert context.function_name == names.WARM_SESSION
    assert context.memory_limit_in_mb == str(WARM_SESSION.memory_mb)
    assert context.invoked_function_arn == "arn:aws:lambda:us-east-1:123456789012:function:warm_session"
    assert context.log_group_name == "/aws/lambda/warm_session"
    assert 0 < context.get_remaining_time_in_millis() <= WARM_SESSION.timeout_s * 1000


def test_context__no_time_left_is_0() -> None:
    context = LambdaContext(function_name="f", memory_limit_in_mb="1", deadline=time.monotonic() - 5)
    assert context.get_remaining_time_in_millis() == 0


def test_invoke__an_exception_fails_the_invocation_and_is_chained() -> None:
    def fail(_event: object, _context: LambdaContext) -> object:
        raise KeyError("user text")

    with pytest.raises(InvocationError, match=r"^warm_session failed with KeyError$") as failed:
        invoke(fail)
    assert isinstance(failed.value.__cause__, KeyError)


def test_invoke__a_response_that_is_no_json_fails_the_invocation() -> None:
    with pytest.raises(InvocationError, match="TypeError"):
        invoke(lambda _event, _context: b"bytes")


def test_invoke__a_response_after_the_timeout_does_not_count() -> None:
    environment = ExecutionEnvironment(replace(WARM_SESSION, timeout_s=0), lambda _event, _context: None)
    with pytest.raises(OverrunError):
        environment.invoke(None)


def test_invoke__one_at_a_time() -> None:
    inside: list[int] = []
    most: list[int] = []

    def handler(_event: object, _context: LambdaContext) -> None:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()

    environment = ExecutionEnvironment(WARM_SESSION, handler)
    threads = [threading.Thread(target=environment.invoke, args=(None,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_load__finds_the_handler_of_the_functions_folder() -> None:
    (refresh,) = (function for function in FUNCTIONS if function.folder == names.REFRESH_PREFERENCES)
    environment = ExecutionEnvironment.load(refresh, package=STANDINS)
    response = environment.invoke({"Records": [{"messageId": "m"}]})
    assert response == {"batchItemFailures": [{"itemIdentifier": "m"}]}


def test_load_attribute__a_module_without_it_is_an_import_error() -> None:
    (refresh,) = (function for function in FUNCTIONS if function.folder == names.REFRESH_PREFERENCES)
    with pytest.raises(ImportError, match="has no app to call"):
        load_attribute(refresh, "app", package=STANDINS)
