"""A relay between the proxy and PostgreSQL that knows CancelRequests: it can delay them, hold them
back, and tell whether one crossed in the clear."""

import contextlib
import select
import socket
import ssl
import struct
import threading

from .waiting import until
from .wire import Address

CANCEL_CODE = struct.pack("!i", 80877102)
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


class Relay:
    """`with Relay(postgres.address) as relay:`; the proxy connects to `relay.address`.

    With `tls`, a certificate and its key, the relay itself is the TLS server and so sees cancels
    inside; without, it passes TLS on unseen.
    """

    def __init__(self, target, tls=None, delay=0.0):
        self._target, self._delay = target, delay
        self._context = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*map(str, tls))
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = Address("127.0.0.1", self._door.getsockname()[1])
        self._may_pass = threading.Event()
        self._may_pass.set()
        self._ended = threading.Event()
        self._guests = []
        self._lock = threading.Lock()
        self.connections = 0
        self.cancels = 0  # Requests that were read.
        self.held = 0  # Of these, those that wait.
        self._clear = []

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._may_pass.set()
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        with self._lock:
            for sock in self._guests:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def hold(self):
        """Cancels that come from now on wait for release()."""
        self._may_pass.clear()

    def release(self):
        self._may_pass.set()

    def wait_held(self, count=1):
        until(lambda: self.held == count, what=f"{count} cancels are held back")

    def clear_bytes(self):
        """All that the proxy has sent here, as somebody on the wire sees it."""
        with self._lock:
            return b"".join(self._clear)

    # ---- threads

    def _accept(self):
        while not self._ended.is_set():
            try:
                guest, _ = self._door.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._guests.append(guest)
            threading.Thread(target=self._serve, args=(guest,), daemon=True).start()

    def _serve(self, guest):
        guest.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = guest
        with contextlib.suppress(OSError), self._target.connect() as server:
            server.settimeout(None)
            first = self._packet(guest)
            if first == _SSL_REQUEST and self._context:
                guest.sendall(b"S")
                secure = self._context.wrap_socket(guest, server_side=True)
                first = self._packet(secure)
            if first[4:8] == CANCEL_CODE:
                self._hold_back()
            server.sendall(first)
            self._pump(secure, server)
        with contextlib.suppress(OSError):
            secure.close()
        with self._lock:
            self._guests = [other for other in self._guests if other.fileno() >= 0]

    def _packet(self, sock):
        data = b""
        while len(data) < 4 or len(data) < struct.unpack("!i", data[:4])[0]:
            more = self._read(sock, (4 if len(data) < 4 else 1 << 16))
            if not more:
                raise ConnectionError
            data += more
        return data

    def _read(self, sock, size):
        data = sock.recv(size)
        if not isinstance(sock, ssl.SSLSocket):
            with self._lock:
                self._clear.append(data)
        return data

    def _hold_back(self):
        with self._lock:
            self.cancels += 1
            self.held += 1
        self._may_pass.wait()
        self._ended.wait(self._delay)
        with self._lock:
            self.held -= 1

    def _pump(self, guest, server):
        # One thread for both ways: an SSLSocket is not for two.
        while True:
            pending = isinstance(guest, ssl.SSLSocket) and guest.pending()
            ready = [guest] if pending else select.select([guest, server], [], [])[0]
            if guest in ready:
                data = self._read(guest, 1 << 16)
                if not data:
                    return
                server.sendall(data)
            if server in ready:
                data = server.recv(1 << 16)
                if not data:
                    return
                guest.sendall(data)
