"""Messages of protocol version 3: builders for what a client sends, readers of what it gets."""

import struct
from typing import NamedTuple

SSL_REQUEST = struct.pack("!ii", 8, 80877103)
GSSENC_REQUEST = struct.pack("!ii", 8, 80877104)


def version(major, minor):
    return major << 16 | minor


def startup(params, protocol=version(3, 0)):
    """`params` is a dict or a list of pairs; texts or bytes."""
    pairs = params.items() if isinstance(params, dict) else params
    body = b"".join(_text(name) + b"\0" + _text(value) + b"\0" for name, value in pairs) + b"\0"
    return struct.pack("!ii", len(body) + 8, protocol) + body


def cancel_request(pid, key):
    return struct.pack("!iii", 12 + len(key), 80877102, pid) + key


def message(kind, body=b""):
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def Q(text):
    return message("Q", _text(text) + b"\0")


def P(text, name="", oids=()):
    types = struct.pack(f"!h{len(oids)}i", len(oids), *oids)
    return message("P", _text(name) + b"\0" + _text(text) + b"\0" + types)


def B(params=(), statement="", portal="", formats=(), results=()):
    """`params`: texts, bytes, or None for NULL."""
    values = b"".join(
        struct.pack("!i", -1)
        if value is None
        else struct.pack("!i", len(_text(value))) + _text(value)
        for value in params
    )
    return message(
        "B",
        _text(portal)
        + b"\0"
        + _text(statement)
        + b"\0"
        + struct.pack(f"!h{len(formats)}h", len(formats), *formats)
        + struct.pack("!h", len(params))
        + values
        + struct.pack(f"!h{len(results)}h", len(results), *results),
    )


def D(kind="P", name=""):
    return message("D", kind.encode() + _text(name) + b"\0")


def E(rows=0, portal=""):
    return message("E", _text(portal) + b"\0" + struct.pack("!i", rows))


def C(kind, name=""):
    return message("C", kind.encode() + _text(name) + b"\0")


def F(oid, *args):
    """FunctionCall with text arguments and a text result."""
    values = b"".join(struct.pack("!i", len(_text(arg))) + _text(arg) for arg in args)
    return message("F", struct.pack("!ihh", oid, 0, len(args)) + values + struct.pack("!h", 0))


S = message("S")
H = message("H")
X = message("X")
CopyDone = message("c")


def CopyData(text):
    return message("d", _text(text))


def CopyFail(text="given up"):
    return message("f", _text(text) + b"\0")


def batch(text, params=()):
    """One extended statement up to its Execute, without the Sync."""
    return P(text) + B(params) + E()


def query_batch(text, params=()):
    """What drivers send for one statement: Parse, Bind, Describe, Execute, Sync."""
    return P(text) + B(params) + D("P") + E() + S


class Message(NamedTuple):
    kind: str
    body: bytes

    def fields(self):
        """The fields of an ErrorResponse or NoticeResponse, in wire order."""
        parts = self.body.rstrip(b"\0").split(b"\0")
        return {part[:1].decode(): part[1:].decode(errors="replace") for part in parts if part}

    def row(self):
        """The columns of a DataRow as texts, None for NULL."""
        (count,), at, columns = struct.unpack("!h", self.body[:2]), 2, []
        for _ in range(count):
            (length,) = struct.unpack("!i", self.body[at : at + 4])
            at += 4
            columns.append(
                None if length < 0 else self.body[at : at + length].decode(errors="replace")
            )
            at += max(length, 0)
        return tuple(columns)

    def parameter(self):
        name, value = self.body.split(b"\0")[:2]
        return name.decode(), value.decode()

    def status(self):
        return self.body.decode()

    def tag(self):
        return self.body[:-1].decode()

    def __repr__(self):
        return describe(self)


def describe(msg):
    """One line for a person and for comparing: the type, then what matters of the body."""
    if msg.kind in "EN":
        return f"{msg.kind} " + " ".join(f"{key}={value!r}" for key, value in msg.fields().items())
    if msg.kind == "S":
        return "S %s=%r" % msg.parameter()
    if msg.kind in "ZC":
        return f"{msg.kind} {msg.body.rstrip(chr(0).encode()).decode()}"
    body = msg.body if len(msg.body) <= 120 else msg.body[:60] + b"..." + msg.body[-20:]
    return f"{msg.kind} {body!r}" + (f" ({len(msg.body)} bytes)" if body is not msg.body else "")


def shape(got):
    """The types of the messages in one word, each ReadyForQuery with its status: "TDCZI"."""
    return "".join(msg.kind + (msg.status() if msg.kind == "Z" else "") for msg in got)


def codes(got):
    """The types of the messages, but the SQLSTATE of an error."""
    return [msg.fields()["C"] if msg.kind == "E" else msg.kind for msg in got]


def only_error(got):
    """The fields of the one ErrorResponse among the messages, which must not be a FATAL."""
    errors = [msg.fields() for msg in got if msg.kind == "E"]
    assert len(errors) == 1 and errors[0]["S"] == errors[0]["V"] == "ERROR", got
    return errors[0]


def _text(value):
    return value if isinstance(value, bytes) else str(value).encode()
