"""DISCARD SEQUENCES on its own is answered by a backend: the values are nowhere else."""

import pytest

from support.messages import Q, codes

pytestmark = pytest.mark.needs_proxy


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres, {})


def test_what_was_discarded_is_not_told_any_more(proxy, connect):
    session = connect(proxy)
    session.query("create sequence numbers")
    try:
        assert session.value("select nextval('numbers')") == "1"
        assert session.value("select currval('numbers')") == "1"
        session.query("discard sequences")
        assert codes(session.ask(Q("select currval('numbers')"))) == ["T", "55000", "Z"]
    finally:
        session.query("drop sequence numbers")
