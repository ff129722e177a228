"""A client writes a whole transaction and its goodbye in one go and never looks back: nothing of it
is lost."""

import pytest

from support.messages import Q, S, X, batch
from support.waiting import until

pytestmark = pytest.mark.needs_proxy

COUNT = 100
PERMITS = 24


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    # Nobody waits: who leaves a queue has not been promised anything.
    budget = {"concurrency": PERMITS, "queue": 0}
    kept = {"name": "kept", "match": {"application_name": "kept"}, "pooling": "session", **budget}
    workloads = [kept, {"name": "default", **budget}]
    return module_proxy(postgres, {"workloads": workloads})


FORMS = {
    "simple": lambda n: Q("begin") + Q(f"insert into t values ({n})") + Q("commit"),
    "extended": lambda n: b"".join(
        batch(text) + S for text in ("begin", f"insert into t values ({n})", "commit")
    ),
}


@pytest.mark.parametrize("lane", ["moving", "kept"])
@pytest.mark.parametrize("goodbye", [X, b""], ids=["Terminate", "FIN"])
@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_lost(postgres, proxy, connect, form, goodbye, lane):
    postgres.empty_tables()
    # No more at a time than have a permit: who is refused has not been promised anything either,
    # and how soon a permit is back is the machine's business.
    for first in range(0, COUNT, PERMITS):
        some = range(first, min(first + PERMITS, COUNT))
        for n in some:
            session = connect(proxy, application_name=lane)
            session.send(FORMS[form](n) + goodbye)
            session.half_close()
        until(
            lambda some=some: postgres.count("select count(distinct a) from t") == some.stop,
            within=30,
            what="every row is there",
        )
        until(lambda: not any(proxy.metrics().held().values()), what="every permit is back")
