"""Free TCP ports of the loopback interface.

A port that was only bound and released may be handed to somebody else before its server binds it. Here one connection
is made and closed from the listening side, which leaves the port in TIME_WAIT: the kernel then gives it to nobody who
asks for any port, while a server that names it (with SO_REUSEADDR, as servers do) may bind it.
"""

import socket

HOST = "127.0.0.1"


def reserve_port() -> int:
    """Return a free port of 127.0.0.1 that the kernel will not hand out for about a minute."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, 0))
        listener.listen(1)
        port = int(listener.getsockname()[1])
        with socket.create_connection((HOST, port)) as client:
            accepted, _ = listener.accept()
            accepted.close()
            client.recv(1)
    return port
