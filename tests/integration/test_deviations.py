"""The deviations that are documented: they are what the proxy does, and the README lists them."""

import pathlib

import pytest

from support import deviations
from support.messages import Q
from support.oracle import Z, case, compare, quiet

README = pathlib.Path(__file__).with_name("README.md")

# True when the transaction began less than 100 ms before this statement.
YOUNG = "select now() > clock_timestamp() - interval '100 milliseconds' as young"

CASES = [
    case(
        "the clock of a block starts with its first statement",
        Q("begin"),
        Z,
        quiet(0.2),
        Q(YOUNG),
        Z,
        Q("commit"),
        Z,
        deviates=deviations.CLOCK_STARTS_LATE,
        proxy_says=[
            "C BEGIN",
            "Z T",
            "quiet",
            r"T b'\x00\x01young\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x01\xff\xff\xff\xff"
            r"\x00\x00'",
            r"D b'\x00\x01\x00\x00\x00\x01t'",
            "C SELECT 1",
            "Z T",
            "C COMMIT",
            "Z I",
            "-- select 42",
            r"T b'\x00\x01?column?\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff"
            r"\xff\x00\x00'",
            r"D b'\x00\x01\x00\x00\x00\x0242'",
            "C SELECT 1",
            "Z I",
        ],
    ),
]


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


@pytest.mark.needs_proxy
@pytest.mark.parametrize("made", CASES)
def test_the_proxy_deviates_as_documented(postgres, proxy, made):
    compare(postgres, proxy, made)


@pytest.mark.parametrize("deviation", deviations.ALL, ids=lambda deviation: deviation.name)
def test_the_readme_lists_every_deviation(deviation):
    assert f"| {deviation.name} | {deviation.reason} |" in README.read_text()
