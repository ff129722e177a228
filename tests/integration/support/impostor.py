"""A server in PostgreSQL's place that says exactly what a test wants during a login."""

import contextlib
import socket
import struct
import threading

from .meddler import exactly
from .messages import message

OK = message("R", struct.pack("!i", 0))
READY = message("Z", b"I")
KEY = message("K", struct.pack("!ii", 4711, 7))


def parameter(name, value):
    return message("S", name.encode() + b"\0" + value.encode() + b"\0")


LOGIN = (
    OK
    + b"".join(
        parameter(*pair)
        for pair in (
            ("client_encoding", "UTF8"),
            ("server_encoding", "UTF8"),
            ("server_version", "15.0"),
            ("standard_conforming_strings", "on"),
            ("integer_datetimes", "on"),
            ("TimeZone", "UTC"),
            ("DateStyle", "ISO, MDY"),
            ("is_superuser", "off"),
            ("session_authorization", "alice"),
        )
    )
    + KEY
    + READY
)


def read_startup(sock):
    """The first packet without its length."""
    (length,) = struct.unpack("!i", exactly(sock, 4))
    return exactly(sock, length - 4)


def read_message(sock):
    kind = exactly(sock, 1)
    (length,) = struct.unpack("!i", exactly(sock, 4))
    return kind.decode(), exactly(sock, length - 4)


class Impostor:
    """`talk(sock)` is one connection; it is closed when that returns."""

    def __init__(self, talk):
        self._talk = talk
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._door.getsockname()[1]
        self.guests = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in [self._door, *self.guests]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                guest, _ = self._door.accept()
                self.guests.append(guest)
                threading.Thread(target=self._serve, args=(guest,), daemon=True).start()

    def _serve(self, guest):
        with contextlib.suppress(OSError, EOFError, struct.error):
            self._talk(guest)
        with contextlib.suppress(OSError):
            guest.close()


def scram(first):
    """A talk that asks for SCRAM and answers the client's nonce with `first(nonce)`."""

    def talk(sock):
        read_startup(sock)
        sock.sendall(message("R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"))
        _, body = read_message(sock)
        nonce = body.partition(b"r=")[2].rstrip(b"\0")
        sock.sendall(message("R", struct.pack("!i", 11) + first(nonce)))
        while sock.recv(4096):
            pass

    return talk
