"""The oracle: a script is played to PostgreSQL and to the proxy; the answers must be the same.

A script is a sequence of steps:
    bytes            sent in one write
    Z                read up to the next ReadyForQuery; ready(3): up to the third
    upto("G")        read up to a message of that type
    quiet(0.2)       nothing arrives for so long
    Cut(data, seed)  sent in random pieces
    FIN              the client stops sending, then reads to the end
    END              the other side closes; all messages up to there are read
"""

import difflib
import random
from typing import NamedTuple

import pytest

from .messages import Message, Q, describe
from .news import news
from .postgres import DATABASE
from .proxy import DIRECT
from .wire import DEADLINE, Closed, Session

# Which place in PostgreSQL's source an error comes from is no business of a client, but for the few
# routines that test_error_routines.py names.
IGNORED_FIELDS = "FLR"


class upto(NamedTuple):
    kind: str
    count: int = 1


class quiet(NamedTuple):
    seconds: float


class Cut(NamedTuple):
    data: bytes
    seed: int
    pieces: int = 20


class _Word(NamedTuple):
    word: str


FIN = _Word("FIN")
END = _Word("END")


def ready(count=1):
    return upto("Z", count)


Z = ready()


class Case(NamedTuple):
    name: str
    steps: tuple
    params: dict  # of the startup packet
    raw: bool  # the script itself begins with the startup packet
    deviation: object  # a support.deviations.Deviation, or None
    proxy_says: object  # the proxy's own transcript where there is a deviation
    ignores: str  # types of messages that are not compared
    ends: str  # "alive": `select 42` must answer at the end; "closed"; "any"


def case(
    name, *steps, raw=False, deviates=None, proxy_says=None, ignores="", ends="alive", **params
):
    """One row of a table; becomes one test."""
    made = Case(name, steps, params, raw, deviates, proxy_says, ignores, ends)
    return pytest.param(made, id=name)


def cut_points(size, seed, pieces):
    rng = random.Random(seed)
    return sorted(rng.randrange(size + 1) for _ in range(pieces))


# ---- playing


def play(address, made, within=DEADLINE):
    """Plays the script and returns the normalised transcript, a list of lines."""
    params = {"user": "alice", "database": DATABASE, **made.params}
    session = Session(address, None if made.raw else params)
    lines = []
    try:
        for step in made.steps:
            lines += _step(session, step, within)
        lines += _ending(session, made, lines)
    finally:
        session.terminate()
    return lines


def _step(session, step, within):
    if isinstance(step, bytes):
        session.send(step, within=within)
        return []
    if isinstance(step, Cut):
        session.send_cut(step.data, cut_points(len(step.data), step.seed, step.pieces))
        return []
    if isinstance(step, upto):
        return _until(session, step, within)
    if isinstance(step, quiet):
        came = session.quiet(step.seconds)
        return ["quiet"] if came is None else [f"not quiet: {describe(came)}"]
    if step is FIN:
        session.half_close()
    return transcript(news(session, session.drain(within))) + ["closed"]


def _until(session, step, within):
    """Like Session.until, but an end of the stream or a silence is part of the transcript."""
    got, seen = [], 0
    while seen < step.count:
        try:
            got.append(session.read(within))
        except Closed:
            return transcript(news(session, got)) + ["closed"]
        except TimeoutError:
            return transcript(news(session, got)) + [f"silence instead of {step.kind}"]
        seen += got[-1].kind == step.kind
    return transcript(news(session, got))


def _ending(session, made, lines):
    if made.ends != "alive":
        return []
    if "Z I" not in lines[-1:]:
        lines += ["-- rollback"] + _probe(session, "rollback")
    return ["-- select 42"] + _probe(session, "select 42")


def _probe(session, text):
    session.send(Q(text))
    return _until(session, Z, DEADLINE)


# ---- comparing


def transcript(got):
    """Messages as lines without what must differ: keys, process ids, places in the source."""
    lines, parameters = [], []
    for msg in got:
        if msg.kind == "S" and lines and lines[-1].startswith("R"):
            parameters.append(_line(msg))  # Their order in the greeting means nothing.
            continue
        lines += sorted(parameters) + [_line(msg)]
        parameters = []
    return lines + sorted(parameters)


def _line(msg):
    if msg.kind == "K":
        return "K"
    if msg.kind == "A":
        return describe(Message("A", b"<pid>" + msg.body[4:]))
    if msg.kind in "EN":
        fields = msg.fields()
        return f"{msg.kind} " + " ".join(
            f"{k}={v!r}" for k, v in fields.items() if k not in IGNORED_FIELDS
        )
    return describe(msg)


def compare(postgres, proxy, made, within=DEADLINE):
    """Plays `made` to both, and compares messages and what is in the tables afterwards."""
    expected = _played(postgres, postgres.address, made, within)
    actual = _played(postgres, proxy.address, made, within)
    if made.deviation and not DIRECT:
        expected = list(made.proxy_says)
    if actual != expected:
        pytest.fail(
            "\n".join(difflib.unified_diff(expected, actual, "postgresql", "proxy", lineterm=""))
        )
    check_sanity(expected)


def check_sanity(lines):
    """A case in which PostgreSQL itself is silent or not quiet is a mistake in the case."""
    wrong = [line for line in lines if line.startswith(("silence", "not quiet"))]
    assert not wrong, wrong


def _played(postgres, address, made, within):
    postgres.settle()
    postgres.empty_tables()
    lines = play(address, made, within)
    postgres.settle(within)
    lines = [line for line in lines if line[0] not in made.ignores]
    return lines + [f"table {row}" for row in postgres.contents()]
