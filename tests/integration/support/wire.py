"""A raw client: sends exactly the bytes it is told to, and reads messages with a deadline."""

import contextlib
import os
import select
import signal
import socket
import struct
import time
from typing import NamedTuple, Union

from . import messages
from .messages import Message
from .waiting import PATIENCE

DEADLINE = 5.0


class Address(NamedTuple):
    """A TCP port (with a host) or a Unix socket's path."""

    host: str
    port: Union[int, None] = None

    def connect(self):
        if self.port is None:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(self.host)
            return sock
        sock = socket.create_connection((self.host, self.port), timeout=DEADLINE * PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock


class Closed(ConnectionError):
    """The other side closed the connection where a message was expected."""


class ServerError(Exception):
    """`Session.query` got an ErrorResponse; `fields` are its fields."""

    def __init__(self, fields):
        super().__init__(repr(fields))
        self.fields = fields


class Session:
    """One connection. Without `params` nothing is sent, and the test speaks first."""

    def __init__(self, address, params=None, protocol=messages.version(3, 0)):
        self.address = address
        self.sock = address.connect()
        self.sock.setblocking(False)
        self.buffer = bytearray()
        self.eof = False
        self.reset = False
        self.pid, self.key, self.parameters, self.greeting = 0, b"", {}, []
        if params is not None:
            self.log_in(params, protocol)

    def log_in(self, params, protocol=messages.version(3, 0)):
        self.send(messages.startup(params, protocol))
        self.greeting = self.until("Z")
        for msg in self.greeting:
            if msg.kind == "K":
                (self.pid,), self.key = struct.unpack("!i", msg.body[:4]), msg.body[4:]
            elif msg.kind == "S":
                name, value = msg.parameter()
                self.parameters[name] = value
            elif msg.kind == "E":
                raise ServerError(msg.fields())

    # ---- sending

    def send(self, *chunks, within=DEADLINE):
        """Writes everything; what arrives meanwhile is kept, so that both sides may be full."""
        data = memoryview(b"".join(chunks))
        end = time.monotonic() + within * PATIENCE
        while data:
            wanted = select.POLLOUT if self.eof else select.POLLIN | select.POLLOUT
            ready = self._await(wanted, end)
            if ready & ~select.POLLOUT and not self.eof:
                self._receive()
            if ready & select.POLLOUT:
                data = data[self._send_some(data) :]
            elif not ready or time.monotonic() > end:
                raise TimeoutError(f"{len(data)} bytes could not be written")

    def send_cut(self, data, cuts):
        """Writes `data` in pieces that end at the offsets `cuts`, each in a write of its own."""
        for start, end in zip([0, *cuts], [*cuts, len(data)]):
            if end > start:
                self.send(data[start:end])

    def _await(self, wanted, end):
        """poll(), as select() knows no descriptor above 1023; what is ready, 0 when there was no time."""
        poll = select.poll()
        poll.register(self.sock, wanted)
        ready = poll.poll(max(0.0, end - time.monotonic()) * 1000)
        return ready[0][1] if ready else 0

    def _send_some(self, data):
        try:
            return self.sock.send(data)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            # The other side has gone: what it said before is still to be read.
            self.reset = True
            return len(data)

    # ---- reading

    def read(self, within=DEADLINE):
        """The next message; Closed at the end of the stream, TimeoutError when none comes."""
        end = time.monotonic() + within * PATIENCE
        while True:
            msg = self._take()
            if msg:
                return msg
            if self.eof:
                raise Closed(f"closed with {bytes(self.buffer)!r} unread")
            if not self._await(select.POLLIN, end):
                raise TimeoutError(f"no message within {within * PATIENCE:g} s")
            self._receive()

    def until(self, kind, count=1, within=DEADLINE):
        """Messages up to and with the `count`-th of `kind`; a FATAL error and the end of the
        stream stop it too."""
        got, seen = [], 0
        end = time.monotonic() + within * PATIENCE
        while seen < count:
            try:
                msg = self.read(max(0.0, end - time.monotonic()) / PATIENCE)
            except Closed:
                if got and got[-1].kind == "E":
                    return got
                raise Closed(f"closed after {got[-6:]}") from None
            except TimeoutError:
                raise TimeoutError(
                    f"waiting for {count} x {kind}, have {seen}; last {got[-6:]}"
                ) from None
            got.append(msg)
            seen += msg.kind in kind
        return got

    def drain(self, within=DEADLINE):
        """All messages until the other side closes."""
        got = []
        while True:
            try:
                got.append(self.read(within))
            except Closed:
                return got

    def quiet(self, seconds):
        """Nothing arrives for so long: returns what did (to fail with), else None."""
        try:
            return self.read(seconds / PATIENCE)
        except TimeoutError:
            return None

    def raw(self, count, within=DEADLINE):
        """So many bytes outside any message (the answer to SSLRequest); fewer at the end of the
        stream."""
        end = time.monotonic() + within * PATIENCE
        while len(self.buffer) < count and not self.eof:
            if not self._await(select.POLLIN, end):
                raise TimeoutError(f"{count} bytes wanted, have {bytes(self.buffer)!r}")
            self._receive()
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def _take(self):
        if len(self.buffer) < 5:
            return None
        (length,) = struct.unpack("!i", self.buffer[1:5])
        assert 4 <= length < 1 << 30, f"not a message: {bytes(self.buffer[:32])!r}"
        if len(self.buffer) < 1 + length:
            return None
        msg = Message(chr(self.buffer[0]), bytes(self.buffer[5 : 1 + length]))
        del self.buffer[: 1 + length]
        return msg

    def _receive(self):
        try:
            data = self.sock.recv(1 << 18)
        except BlockingIOError:
            return
        except (ConnectionResetError, BrokenPipeError):
            self.reset, data = True, b""
        self.buffer += data
        self.eof = self.eof or not data

    # ---- whole queries

    def ask(self, *chunks, ready=1, within=DEADLINE):
        """Sends and returns the messages up to so many ReadyForQuery."""
        self.send(*chunks, within=within)
        return self.until("Z", ready, within)

    def query(self, text, within=DEADLINE):
        """Rows of a simple query as tuples of texts; raises ServerError."""
        got = self.ask(messages.Q(text), within=within)
        for msg in got:
            if msg.kind == "E":
                raise ServerError(msg.fields())
        return [msg.row() for msg in got if msg.kind == "D"]

    def value(self, text, within=DEADLINE):
        return self.query(text, within)[0][0]

    def cancel(self, pid=None, key=None, within=DEADLINE):
        """Sends a CancelRequest and waits for its connection to be closed; returns bytes received
        (none)."""
        other = Session(self.address)
        try:
            other.send(
                messages.cancel_request(
                    self.pid if pid is None else pid, self.key if key is None else key
                )
            )
            return other.raw(1, within)
        finally:
            other.close()

    # ---- leaving

    def terminate(self):
        if self.sock.fileno() >= 0:
            with contextlib.suppress(OSError, TimeoutError):
                self.send(messages.X)
            self.close()

    def close(self):
        """FIN, or RST when received bytes were never read."""
        self.sock.close()

    def half_close(self):
        """FIN, but goes on reading."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset_connection(self):
        """RST at once, whatever is unsent."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def die(self):
        """The kernel closes the socket as for a process that was killed with SIGKILL."""
        child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        self.sock.close()  # The child is the only owner now.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


LEAVING = {
    "X": Session.terminate,
    "FIN": Session.close,
    "RST": Session.reset_connection,
    "SIGKILL": Session.die,
}
