"""DynamoDB calls are taken one at a time, others are not."""

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from infra.local.aws import OneAtATime

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


class Gauge:
    """WSGI app that knows how many calls were in it at once."""

    def __init__(self) -> None:
        self.most = 0
        self._inside = 0
        self._lock = threading.Lock()

    def __call__(self, _environ: "WSGIEnvironment", _start: "StartResponse") -> Iterable[bytes]:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        time.sleep(0.02)
        with self._lock:
            self._inside -= 1
        return [b""]


def refuse_to_start(*_arguments: object) -> "StartResponse":
    raise AssertionError


def call_at_once(gauge: Gauge, target: str) -> None:
    app = OneAtATime(gauge)
    threads = [threading.Thread(target=app, args=({"HTTP_X_AMZ_TARGET": target}, refuse_to_start)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_one_at_a_time__dynamodb_calls_do_not_overlap() -> None:
    gauge = Gauge()
    call_at_once(gauge, "DynamoDB_20120810.TransactWriteItems")
    assert gauge.most == 1


def test_one_at_a_time__a_long_poll_holds_nobody_up() -> None:
    gauge = Gauge()
    call_at_once(gauge, "AmazonSQS.ReceiveMessage")
    assert gauge.most > 1
