"""Logins that come to nothing, one after the other and as fast as they go: first packets that lie, handshakes that fail,
proofs that are wrong."""

import base64
import os
import socket
import ssl
import struct

from .messages import SSL_REQUEST, Q, cancel_request, message, startup, version
from .postgres import DATABASE
from .scram import initial
from .tls import client_context
from .waiting import PATIENCE

ALICE = {"user": "alice", "database": DATABASE}


# ---- first packets


def hostile_packet(dice):
    good = startup({**ALICE, "application_name": "x" * dice.randrange(50)})
    names = bytes(dice.randrange(1, 256) for _ in range(dice.randrange(1, 200)))
    lengths = (0, 3, 4, 7, 8, -1, -(2**31), 10_004, 10_005, 2**31 - 1)
    return dice.choice(
        [
            lambda: good[: dice.randrange(len(good))],
            lambda: struct.pack("!i", dice.choice(lengths)) + os.urandom(dice.randrange(100)),
            lambda: os.urandom(dice.randrange(300)),
            lambda: startup({"user": names.replace(b"\0", b"?"), "database": b"no"}),
            lambda: startup([(b"_pq_.%d" % i, b"v") for i in range(20)], version(3, 9999)),
            lambda: startup([(f"p{i}", "v") for i in range(dice.randrange(600))]),
            lambda: good[:-1] + b"x",
            lambda: SSL_REQUEST + good,
            lambda: SSL_REQUEST + SSL_REQUEST,
            lambda: startup(ALICE, version(dice.randrange(32768), dice.randrange(65536))),
            lambda: cancel_request(dice.randrange(2**31), os.urandom(dice.randrange(300))),
            lambda: Q("select 1"),
        ]
    )()


def strike(address, dice):
    """One connection: says something and goes in some way, without waiting long for an answer."""
    with socket.create_connection(address, timeout=10 * PATIENCE) as sock:
        if dice.random() < 0.3:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            sock.sendall(hostile_packet(dice))
            if dice.random() < 0.5:
                sock.settimeout(0.02)
                sock.recv(4096)
        except OSError:
            pass


# ---- handshakes


def fail_handshakes(address, root, count):
    """With a certificate's name that is asked for in another protocol, with noise, with HTTP, and with silence."""
    context = client_context(root, alpn=["h2"])
    for i in range(count):
        with socket.create_connection((address.host, address.port), timeout=5 * PATIENCE) as sock:
            sock.sendall(SSL_REQUEST)
            assert sock.recv(1) == b"S"
            if i % 4 == 0:
                try:
                    context.wrap_socket(sock, server_hostname="localhost")
                    raise AssertionError("a handshake for another protocol went well")
                except ssl.SSLError:
                    pass
            elif i % 4 == 1:
                sock.sendall(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00" + b"noise" * (i % 1000))
                sock.recv(100)
            elif i % 4 == 2:
                sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
                sock.recv(100)


# ---- proofs


def _receive(sock, kind):
    """The body of the next message, which must be of this kind."""
    head = b""
    while len(head) < 5:
        head += sock.recv(5 - len(head)) or _closed()
    body, length = b"", struct.unpack("!i", head[1:])[0] - 4
    while len(body) < length:
        body += sock.recv(length - len(body)) or _closed()
    assert head[:1] == kind, (head, body)
    return body


def _closed():
    raise AssertionError("closed before the answer")


def fail_scram(address, user):
    """A whole exchange with a proof of the right size that proves nothing; the SQLSTATE it was told."""
    with socket.create_connection((address.host, address.port), timeout=5 * PATIENCE) as sock:
        sock.sendall(startup({"user": user, "database": DATABASE}))
        _receive(sock, b"R")
        sock.sendall(initial("SCRAM-SHA-256", b"n,,n=,r=" + base64.b64encode(os.urandom(18))))
        nonce = _receive(sock, b"R")[4:].split(b",")[0]
        proof = base64.b64encode(os.urandom(32))
        sock.sendall(message("p", b"c=biws," + nonce + b",p=" + proof))
        fields = _receive(sock, b"E").split(b"\0")
        return next(field[1:] for field in fields if field[:1] == b"C").decode()
