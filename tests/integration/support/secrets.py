"""What must never be in a log: a registry that every test adds its passwords and tokens to, and the
look at what a proxy has written."""

import re

_SECRETS = set()
# Shorter ones are found in words that have nothing to do with them.
SHORTEST = 6
# A line ends in a newline; nothing else that a terminal would obey, be it a byte or in UTF-8.
_CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


def secret(text):
    """Returns the text, which no log may have from now on."""
    if len(text) < SHORTEST:
        raise ValueError(f"too short to be looked for: {text!r}")
    _SECRETS.add(text)
    return text


def findings(log, secrets=None):
    """What of a log, as bytes, should not be in it: words for each."""
    found = [
        f"the secret {text!r}"
        for text in sorted(_SECRETS if secrets is None else secrets)
        if text.encode() in log
    ]
    for number, line in enumerate(log.split(b"\n"), 1):
        raw = _CONTROL.search(line)
        if raw:
            found.append(f"the control character {raw.group()!r} in line {number}: {line!r}")
        try:
            line.decode()
        except UnicodeDecodeError:
            found.append(f"no UTF-8 in line {number}: {line!r}")
    return found
