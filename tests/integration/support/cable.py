"""A TCP connection whose cable can be cut: a relay in front of PostgreSQL, on the way to which
packets vanish and nobody is told."""

import contextlib
import selectors
import socket
import threading

from . import silent


class Cable:
    """Relays connections of the proxy's to a server until cut(). Nothing is closed by that: the
    server goes on with what it has been sent, and the proxy hears nothing more."""

    def __init__(self, address):
        self._address = address
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self._pairs = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._door, selectors.EVENT_READ, None)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self):
        """Of every connection there is; later ones work."""
        with self._lock:
            for near, far in self._pairs:
                silent.cut(near)
                for sock in (near, far):
                    with contextlib.suppress(KeyError, ValueError):
                        self._selector.unregister(sock)

    def close(self):
        self._over.set()
        self._thread.join(5)
        for sock in [self._door, *(sock for pair in self._pairs for sock in pair)]:
            sock.close()

    def _run(self):
        while not self._over.is_set():
            for key, _ in self._selector.select(0.02):
                with self._lock:
                    if key.data is None:
                        self._accept()
                    else:
                        self._pass_on(key.fileobj, key.data)

    def _accept(self):
        near, _ = self._door.accept()
        far = self._address.connect()
        for sock in (near, far):
            sock.setblocking(True)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pairs.append((near, far))
        self._selector.register(near, selectors.EVENT_READ, far)
        self._selector.register(far, selectors.EVENT_READ, near)

    def _pass_on(self, source, target):
        try:
            data = source.recv(1 << 16) if source.fileno() >= 0 else b""
            if data:
                target.sendall(data)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(source)
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)
