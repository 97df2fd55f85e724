"""The relay between functions and model server: every byte passed on, every request kept."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from infra.local.demo.engine_relay import EngineCall, EngineRelay, RequestReader
from preheat import names
from tests.infra.local.demo.stand_in_gateway import Script, stand_in_gateway

WARM_UP = {"X-Amzn-SageMaker-Custom-Attributes": names.WARM_UP_PRIORITY}
BODY = b'{"messages":[{"role":"user","content":"hi"}],"cache_salt":"aa","max_tokens":1}'


def request(body: bytes, *, headers: str = "") -> bytes:
    return f"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@pytest.fixture
def relay() -> Iterator[EngineRelay]:
    with stand_in_gateway(Script()) as url, EngineRelay() as relay:
        relay.connect_to(httpx.URL(url).port or 0)
        yield relay


def test_relay__keeps_the_bodies_of_one_connection_in_order(relay: EngineRelay) -> None:
    with httpx.Client(base_url=relay.url) as client:
        assert client.post("/a", content=b'{"n":1}').status_code == 200
        assert client.post("/b", content=b'{"n":2}', headers=WARM_UP).json() == {}
    assert relay.take_calls() == (EngineCall(b'{"n":1}', warm_up=False), EngineCall(b'{"n":2}', warm_up=True))
    assert relay.take_calls() == ()


def test_relay__closes_a_call_when_there_is_no_server() -> None:
    with EngineRelay() as relay, httpx.Client() as client, pytest.raises(httpx.TransportError):
        client.post(relay.url, content=b"{}")


def test_relay__ends_its_connections_with_its_context() -> None:
    with stand_in_gateway(Script()) as url, EngineRelay() as relay:
        relay.connect_to(httpx.URL(url).port or 0)
        with httpx.Client(base_url=relay.url) as client:
            client.post("/a", content=b"{}")
            relay.__exit__(None, None, None)
            with pytest.raises(httpx.TransportError):
                client.post("/a", content=b"{}")


def test_relay__passes_on_a_hang_up_of_the_caller() -> None:
    gone = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as server, EngineRelay() as relay:
        relay.connect_to(server.getsockname()[1])

        def serve() -> None:
            with closing(server.accept()[0]) as connection:
                while connection.recv(1024):
                    pass
                gone.set()

        serving = threading.Thread(target=serve)
        serving.start()
        caller = socket.create_connection(("127.0.0.1", httpx.URL(relay.url).port or 0))
        caller.sendall(request(BODY))
        caller.close()
        assert gone.wait(5)
        serving.join()


def test_request_reader__does_not_care_where_the_bytes_are_cut() -> None:
    kept: list[EngineCall] = []
    reader = RequestReader(kept.append)
    headers = f"x-amzn-sagemaker-custom-attributes: {names.WARM_UP_PRIORITY}\r\n"
    for byte in request(BODY) + request(b"") + request(BODY, headers=headers):
        reader.feed(bytes([byte]))
    assert kept == [EngineCall(BODY, warm_up=False), EngineCall(BODY, warm_up=True)]


def test_engine_call__messages_end_where_the_next_message_would_begin() -> None:
    call = EngineCall(BODY, warm_up=False)
    assert call.messages == b'{"messages":[{"role":"user","content":"hi"}'
    assert call.text() == "hi"
