"""Free ports that stay free until their server takes them."""

import socket

from infra.local.ports import HOST, reserve_port


def test_reserve_port__a_server_that_names_it_may_bind_it() -> None:
    port = reserve_port()
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((HOST, port))
        server.listen()


def test_reserve_port__gives_no_port_twice() -> None:
    ports = [reserve_port() for _ in range(50)]
    assert len(set(ports)) == len(ports)
