"""Random programs over prepared statements, played to PostgreSQL and to the proxy.

PostgreSQL itself is the model: a client's statements are its own, so what one client is told does
not depend on the others, and the same program on a connection of its own says what is right.
"""

import random
import threading
from typing import NamedTuple

from .messages import B, C, D, E, H, P, Q, S
from .news import news
from .oracle import transcript
from .postgres import DATABASE
from .wire import Session

NAMES = ["a", "b", "pgb_s1"]
TEXTS = [
    "select 1 as one",
    "select 'two'::text as two, 2 as number",
    "select $1::int as given",
    "select $1::text || $2 as joined",
    "select 6 / $1::int as divided",
    "select generate_series(1, 3)",
]
BAD = ["selec 1", "select * from nowhere", "select nope"]
BLOCKS = ["begin", "commit", "rollback"]
QUERIES = ["select 7", "select 1/0", "selec", *BLOCKS]


ABORTED = (
    "E S='ERROR' V='ERROR' C='25P02' M='current transaction is aborted, commands ignored until end of "
    "transaction block'"
)


class Step(NamedTuple):
    """`first` is sent and one message read, if it is not empty; then `rest`; then up to so many
    ReadyForQuery. -1: the client leaves after it has sent, and comes back."""

    first: bytes
    rest: bytes
    ready: int


class Dice(random.Random):
    def once_in(self, n):
        return self.randrange(n) == 0

    def name(self):
        return "" if self.once_in(3) else self.choice(NAMES)

    def text(self):
        if self.once_in(8):
            return self.choice(BAD)
        if self.once_in(20):
            return self.choice(["deallocate all", "discard all", "deallocate a", *BLOCKS])
        return self.choice(TEXTS)

    def params(self):
        return [self.choice(["1", "0", "x", None]) for _ in range(self.choice([0, 0, 0, 1, 1, 2]))]


def message(dice):
    kind = dice.choice("PPPBBBBDDCE")
    if kind == "P":
        return P(dice.text(), dice.name())
    if kind == "B":
        name = dice.name()
        portal = dice.choice(["", "", "", name])
        return B(dice.params(), name, portal) + (E(0, portal) if dice.once_in(2) else b"")
    # The unnamed portal is used only behind its Bind: a BEGIN of the proxy's own leaves one.
    if kind == "D":
        return D("S", dice.name()) if dice.once_in(2) else D("P", "q")
    if kind == "C":
        return C(dice.choice("SSP"), dice.name())
    return E(dice.choice([0, 0, 1]), "q")


def batch(dice):
    if dice.once_in(2):
        name, text = dice.name(), dice.text()
        return P(text, name) + D("S", name) + B(dice.params(), name) + E()
    return b"".join(message(dice) for _ in range(dice.randint(1, 5)))


def query(dice):
    if dice.once_in(2):
        drop = dice.choice(["deallocate a", "deallocate b", "deallocate all", "discard all"])
        return Q(drop + dice.choice(["", ";", " -- c"]))
    return Q(dice.choice(QUERIES))


def step(dice):
    what = dice.randrange(20)
    if what == 0:
        return Step(b"", batch(dice), -1)
    if what < 4:
        return Step(b"", query(dice), 1)
    if what < 7:
        return Step(message(dice) + H, batch(dice) + S, 1)
    count = dice.choice([1, 1, 1, 2, 3])
    return Step(b"", b"".join(batch(dice) + S for _ in range(count)), count)


def program(seed, steps):
    dice = Dice(seed)
    return [step(dice) for _ in range(steps)]


def log_in(address):
    return Session(address, {"user": "alice", "database": DATABASE})


def play(address, steps):
    """A transcript for each step."""
    session = log_in(address)
    said = []
    try:
        for first, rest, ready in steps:
            got = []
            if first:
                session.send(first)
                got.append(session.read())
            session.send(rest)
            if ready < 0:
                session.close()
                session = log_in(address)
            else:
                got += session.until("Z", ready)
            said.append(transcript(news(session, got)))
    finally:
        session.terminate()
    return said


def play_together(address, programs):
    """All at once, each by a client of its own."""
    said = [None] * len(programs)

    def run(i):
        try:
            said[i] = play(address, programs[i])
        except Exception as error:
            said[i] = [[f"{type(error).__name__}: {error}"]]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def in_failed_block(lines):
    """In a failed block PostgreSQL finds a wrong number of parameters before it says 25P02. The
    proxy cannot make the unnamed statement there on a backend that lacks it, and says 25P02."""
    return [
        ABORTED if 'C=\'08P01\'' in line and 'prepared statement ""' in line and after == "Z E" else line
        for line, after in zip(lines, [*lines[1:], ""])
    ]


def first_difference(programs, expected, actual):
    """None, or a text that tells the first step of a client that was answered otherwise."""
    for client, steps in enumerate(programs):
        for i, wanted in enumerate(expected[client]):
            found = actual[client][i] if i < len(actual[client]) else ["nothing"]
            if found == wanted or found == in_failed_block(wanted):
                continue
            before = "\n".join(repr(step) for step in steps[max(0, i - 6) : i + 1])
            return (
                f"client {client}, step {i}\n{before}\n"
                f"postgresql: {wanted}\nproxy:      {found}"
            )
    return None
