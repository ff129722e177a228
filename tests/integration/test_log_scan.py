"""The look at all logs finds what it is there for. It looks at every proxy of every test, at level
debug, when the test is over (conftest.py)."""

import pytest

from support.secrets import findings, secret
from support.wire import Closed, ServerError

GOOD = b"2026-01-01 level=info event=ready user=alice text=\"a \\u001b[31m b\"\n" + "é\n".encode()


def test_an_ordinary_log_is_clean():
    assert findings(GOOD) == []


@pytest.mark.parametrize("secret_", ["open sesame", "p\u00e4sswort"])
def test_a_secret_anywhere_in_a_line_is_found(secret_):
    log = GOOD + b"level=error message=\"password " + secret_.encode() + b" is wrong\"\n"
    assert len(findings(log, {secret_, "not there"})) == 1


def test_a_registered_secret_is_found():
    word = secret("one-that-only-this-test-knows")
    assert findings(b"x=" + word.encode() + b"\n")


@pytest.mark.parametrize("bad", [b"\x1b[31m", b"\x00", b"\r", b"\x07", b"\x7f", b"\xc2\x9b", b"\xff"])
def test_a_raw_control_character_is_found(bad):
    assert findings(GOOD + b"user=" + bad + b"\n")


def test_a_secret_is_long_enough_to_be_looked_for():
    with pytest.raises(ValueError):
        secret("short")


@pytest.mark.needs_proxy
def test_hostile_names_leave_a_clean_log(postgres, new_proxy, connect):
    """The bytes of user, database and application_name are the client's, and the log is for people."""
    proxy = new_proxy(postgres, {"log": {"level": "debug"}})
    names = [b"\x1b]0;pwned\x07", b"a\nlevel=error event=forged", b"\xff\xfe", b"\xc2\x9b31m", b"\x7f\r"]
    for name in names:
        for parameter in ("user", "database", "application_name"):
            with pytest.raises((ServerError, Closed)):
                connect(proxy, **{"user": b"nobody", parameter: name})
    assert findings(proxy.raw_log()) == []
    assert "\nlevel=error event=forged" not in proxy.log()
    for suffix in ("b", "é", "%"):
        assert connect(proxy, application_name=f"\x1b[3{suffix}").value("select 42") == "42"
    assert findings(proxy.raw_log()) == []
    text = proxy.metrics().text
    for word in ("pwned", "forged", "31m", "nobody", "\x1b"):
        assert word not in text
