"""A client that logs in as it is asked to: trust, a password in the clear, or SCRAM-SHA-256."""

import base64
import hashlib
import hmac
import os
import struct

from . import messages, secrets
from .wire import Closed, Session

OK = "accepted"


def _hmac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


class Scram:
    """The client's side of RFC 5802; the password is hashed as it is given, in bytes."""

    def __init__(self, password, flag="n"):
        self._password = password
        self._header = f"{flag},,"
        self._bare = f"n=,r={base64.b64encode(os.urandom(18)).decode()}"

    def first(self):
        return (self._header + self._bare).encode()

    def final(self, server_first):
        text = server_first.decode()
        parts = dict(part.split("=", 1) for part in text.split(","))
        salt = base64.b64decode(parts["s"])
        salted = hashlib.pbkdf2_hmac("sha256", self._password, salt, int(parts["i"]))
        bound = base64.b64encode(self._header.encode()).decode()
        without_proof = f"c={bound},r={parts['r']}"
        signed = f"{self._bare},{text},{without_proof}".encode()
        key = _hmac(salted, b"Client Key")
        signature = _hmac(hashlib.sha256(key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(key, signature))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()


def initial(mechanism, data):
    return messages.message("p", mechanism.encode() + b"\0" + struct.pack("!i", len(data)) + data)


class Login:
    """`session` is an open Session; answer() is called with each message before the greeting."""

    def __init__(self, session, password):
        self.session = session
        self.password = password if isinstance(password, bytes) else password.encode()
        self.asked = []
        # No log may have it; short ones are words of every log.
        if len(self.password) >= 8:
            secrets.secret(self.password.decode(errors="replace"))
        self._scram = Scram(self.password)

    def answer(self, msg):
        (code,) = struct.unpack("!i", msg.body[:4])
        self.asked.append(code)
        if code == 3:
            self.session.send(messages.message("p", self.password + b"\0"))
        elif code == 10:
            assert b"SCRAM-SHA-256\0" in msg.body
            self.session.send(initial("SCRAM-SHA-256", self._scram.first()))
        elif code == 11:
            self.session.send(messages.message("p", self._scram.final(msg.body[4:])))

    def run(self, within=30.0):
        """OK, or (SQLSTATE, message), or None when the connection is closed without a word."""
        while True:
            try:
                msg = self.session.read(within)
            except Closed:
                return None
            if msg.kind == "R":
                self.answer(msg)
            elif msg.kind == "E":
                fields = msg.fields()
                return fields["C"], fields["M"]
            elif msg.kind == "Z":
                return OK


def log_in(address, user, password, database, **parameters):
    """A logged-in Session or None, and how it came out."""
    session = Session(address)
    session.send(messages.startup({"user": user, "database": database, **parameters}))
    login = Login(session, password)
    outcome = login.run()
    session.asked = login.asked
    if outcome == OK:
        return session, outcome
    session.close()
    return None, outcome
