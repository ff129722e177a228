"""A relay in front of PostgreSQL that keeps statements from it, answers in its place, and speaks when
nobody asked."""

import contextlib
import socket
import struct
import threading

from .messages import message


def error(severity, code, text="meddled"):
    fields = f"S{severity}\0V{severity}\0C{code}\0M{text}\0\0"
    return message("E", fields.encode())


NOTICE = message("N", b"SNOTICE\0VNOTICE\0C00000\0Mby the way\0\0")
READY = message("Z", b"I")
NOTIFICATION = message("A", struct.pack("!i", 1) + b"channel\0payload\0")


class Meddler:
    """`answers` maps a statement's text to what is said in PostgreSQL's place; empty: nothing."""

    def __init__(self, address):
        self._address = address
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self.answers = {}
        self.kept = []  # the texts that PostgreSQL did not get
        self._near, self._far = [], []
        threading.Thread(target=self._accept, daemon=True).start()

    def say(self, data):
        """Over every connection, unasked."""
        for sock in self._near:
            with contextlib.suppress(OSError):
                sock.sendall(data)

    def close(self):
        for sock in [self._door, *self._near, *self._far]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                far = self._address.connect()
                far.setblocking(True)
                for sock in (near, far):
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._near.append(near)
                self._far.append(far)
                threading.Thread(target=self._ask, args=(near, far), daemon=True).start()
                threading.Thread(target=self._answer, args=(far, near), daemon=True).start()

    def _answer(self, far, near):
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                near.sendall(data)
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_WR)

    def _ask(self, near, far):
        """Whole messages; the first has no type, as it is a startup packet or a CancelRequest."""
        with contextlib.suppress(OSError, EOFError):
            (length,) = struct.unpack("!i", head := exactly(near, 4))
            far.sendall(head + exactly(near, length - 4))
            while True:
                (length,) = struct.unpack("!i", (head := exactly(near, 5))[1:])
                body = exactly(near, length - 4)
                text = body[:-1].decode(errors="replace") if head[:1] == b"Q" else None
                if text in self.answers:
                    self.kept.append(text)
                    near.sendall(self.answers[text])
                else:
                    far.sendall(head + body)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_WR)


def exactly(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data
