"""`pgbulkhead healthcheck`: what an image without curl asks its proxy."""

import re
import signal

import pytest

from support.lanes import WORKLOADS, Holder
from support.proxy import run
from support.waiting import free_port, until

pytestmark = pytest.mark.needs_proxy


def asked(proxy, *words):
    """(exit code, what it says), which is one line."""
    done = run("healthcheck", "-c", proxy.file, *words)
    assert (done.stdout + done.stderr).count("\n") == 1, done
    return done.returncode, (done.stdout if done.returncode == 0 else done.stderr).strip()


def test_who_serves_lives_and_is_ready(new_proxy, postgres):
    proxy = new_proxy(postgres)
    assert asked(proxy) == (0, "ok")
    assert asked(proxy, "--ready") == (0, "ready")
    done = run("healthcheck", "--url", f"http://127.0.0.1:{proxy.admin_port}")
    assert (done.returncode, done.stdout) == (0, "ok\n")


def test_the_probes_address_is_asked_first(new_proxy, postgres):
    port, other = free_port(), free_port()
    proxy = new_proxy(postgres, {"admin": {"probes": f"0.0.0.0:{port}"}})
    assert asked(proxy) == (0, "ok")
    # It is the file that says who is asked.
    proxy.file.write_text(proxy.file.read_text().replace(f"0.0.0.0:{port}", f"0.0.0.0:{other}"))
    code, said = asked(proxy)
    assert code == 1 and said.startswith(f"http://127.0.0.1:{other}: "), said


def test_who_drains_lives_and_is_not_ready(new_proxy, postgres, connect):
    proxy = new_proxy(postgres, {"workloads": WORKLOADS})
    holder = Holder(connect, proxy, "tight")
    proxy.signal(signal.SIGTERM)
    until(lambda: asked(proxy, "--ready")[0] == 1, what="it is not ready")
    code, said = asked(proxy, "--ready")
    assert code == 1 and re.search(r"answers 503: not ready: draining", said), said
    assert asked(proxy)[0] == 0
    holder.release()


def test_nobody_is_there(unstarted):
    code, said = asked(unstarted())
    assert code == 1 and "127.0.0.1" in said


def test_https_is_asked_by_loopback_whatever_name_its_certificate_has(unstarted, identity, authority):
    certificate, key = map(str, identity)
    files = {"cert": certificate, "key": key}
    proxy = unstarted({"admin": {"tls": files}})
    proxy.get = lambda path: (200, "") if asked(proxy)[0] == 0 else (0, "")
    proxy.start()
    assert asked(proxy, "--ready") == (0, "ready")
    url = f"https://localhost:{proxy.admin_port}"
    assert run("healthcheck", "--url", url, "--ca", authority.root).returncode == 0
    assert run("healthcheck", "--url", url).returncode == 1, "nobody vouches for it"


def test_a_proxy_that_wants_a_certificate_is_not_asked(unstarted, identity, authority):
    certificate, key = map(str, identity)
    files = {"cert": certificate, "key": key, "client_ca": str(authority.root)}
    code, said = asked(unstarted({"admin": {"tls": files}}))
    assert code == 1 and "client_ca" in said


def test_a_file_with_mistakes_is_told_as_check_tells_it(unstarted):
    proxy = unstarted()
    proxy.file.write_text("workloads: 3\n")
    done = run("healthcheck", "-c", proxy.file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == run("check", "-c", proxy.file).stderr
