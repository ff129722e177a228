"""HTTP requests with exactly the headers that a test wants."""

import http.client
from typing import NamedTuple

from .proxy import merged
from .waiting import PATIENCE


class Reply(NamedTuple):
    status: int
    headers: dict  # names in lower case
    body: str


def request(port, method, path, headers=(), body=None, host="127.0.0.1:9432"):
    """`headers` are pairs or a dict. `host` None sends no Host."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10 * PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if host is not None:
            connection.putheader("Host", host)
        for name, value in dict(headers).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        reply = connection.getresponse()
        named = {name.lower(): value for name, value in reply.getheaders()}
        return Reply(reply.status, named, reply.read().decode())
    finally:
        connection.close()


def give_token(proxy, token):
    """Starts the proxy anew with a file that has this token."""
    path = proxy.directory / "token"
    path.write_text(token + "\n")
    admin = {**proxy.budgets["admin"], "token_file": str(path)}
    proxy.rewrite(merged(proxy.budgets, {"admin": admin}))
