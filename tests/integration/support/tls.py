"""TLS for the raw client: `TlsAddress` takes the place of an Address, and everything else stays."""

import os
import shutil
import socket
import ssl
import subprocess
import types

from .messages import SSL_REQUEST
from .postgres import DATABASE
from .waiting import PATIENCE, until
from .wire import DEADLINE


def client_context(root=None, identity=None, alpn=None, newest=None):
    """`identity`: (certificate, key) that the client shows; `newest`: an ssl.TLSVersion."""
    context = ssl.create_default_context(cafile=str(root) if root else None)
    if not root:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if identity:
        context.load_cert_chain(*map(str, identity))
    if alpn:
        context.set_alpn_protocols(alpn)
    if newest:
        context.maximum_version = newest
    return context


class TlsSocket:
    """What wire.Session needs of a socket, with the errors of a plain one."""

    def __init__(self, sock):
        self.tls = sock

    def __getattr__(self, name):
        return getattr(self.tls, name)

    def send(self, data):
        try:
            # One record, so that the same bytes are offered again when it did not go.
            return self.tls.send(data[:16384])
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            raise BrokenPipeError from None

    def recv(self, count):
        try:
            return self.tls.recv(count)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return b""

    def shutdown(self, how):
        """A FIN without close_notify."""
        socket.socket.shutdown(self.tls, how)

    def say_end(self):
        """close_notify. Not while an answer is on its way: this library would take it for a fault."""
        try:
            self.tls.unwrap()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, OSError):
            pass


class TlsAddress:
    """`host` and `port` of a TCP door; `name` is what its certificate must say."""

    def __init__(self, address, context, name="localhost", direct=False):
        self.host, self.port = address.host, address.port
        self.context, self.name, self.direct = context, name, direct

    def connect(self):
        sock = socket.create_connection((self.host, self.port), timeout=DEADLINE * PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if not self.direct:
                sock.sendall(SSL_REQUEST)
                answer = sock.recv(1)
                assert answer == b"S", answer
            return TlsSocket(self.context.wrap_socket(sock, server_hostname=self.name))
        except BaseException:
            sock.close()
            raise


def behind_tls(proxy, root, **wishes):
    """The proxy's door by TLS, for whoever takes a proxy for its address."""
    address = TlsAddress(proxy.address, client_context(root, **wishes))
    return types.SimpleNamespace(address=address)


def door(identity, mode="require", **more):
    """`tls` of a listener."""
    certificate, key = map(str, identity)
    return {"mode": mode, "cert": certificate, "key": key, **more}


def serve_tls(postgres, root, identity, hba, ident=""):
    """PostgreSQL itself with this certificate; `hba` and `ident` replace its files."""
    data = postgres.directory / "data"
    files = {"ssl_ca_file": root, "ssl_cert_file": identity[0], "ssl_key_file": identity[1]}
    for setting, path in files.items():
        copied = data / path.name
        shutil.copy(path, copied)
        copied.chmod(0o600)
        shutil.chown(copied, data.owner(), data.group())
        postgres.sql(f"alter system set {setting} = '{copied}'")
    postgres.sql("alter system set ssl = on")
    postgres.replace_hba(hba, ident)
    until(lambda: postgres.value("show ssl") == "on", what="TLS is on")


def psql(proxy, *options):
    """`options` of the connection string: sslmode and what goes with it."""
    names = f"host=localhost hostaddr=127.0.0.1 port={proxy.port} user=alice dbname={DATABASE}"
    return subprocess.run(
        ["psql", "-XAtqwc", "select 6 * 7", " ".join([names, *options])],
        capture_output=True,
        text=True,
        timeout=20 * PATIENCE,
        env={**os.environ, "PGCONNECT_TIMEOUT": "10"},
    )
