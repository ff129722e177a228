"""The lints can fail: each rule is fed what it forbids, and what looks like it but is allowed."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True


def load(name):
    """A lint is a program without a suffix, which `import` does not find."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


include_table = load("include_table")
house_rules = load("house_rules")



def row_is_missing(path):
    return include_table.row_of(Path(path)) is None


FORBIDDEN = [
    ("protocol/framer.cpp", '#include "proxy/base/check.h"'),
    ("protocol/framer.cpp", "#include <openssl/evp.h>"),
    ("protocol/framer.cpp", "#include <fmt/format.h>"),
    ("config/model.h", '#include "protocol/framer.h"'),
    ("config/model.h", '#include "proxy/gate/gate.h"'),
    ("config/validate.cpp", "#include <yaml-cpp/yaml.h>"),
    ("config/yaml.cpp", "#include <CLI/CLI.hpp>"),
    ("proxy/base/log.cpp", '#include "protocol/framer.h"'),
    ("proxy/gate/gate.cpp", '#include "proxy/pool/pool.h"'),
    ("proxy/gate/gate.cpp", "  #  include <mutex>"),
    ("proxy/gate/gate.cpp", "#include <sys/socket.h>"),
    ("proxy/gate/gate.cpp", "const auto now = std::chrono::steady_clock::now();"),
    ("proxy/gate/gate.cpp", "std::this_thread::sleep_for(wait);"),
    ("proxy/metrics/counters.h", "#include <prometheus/registry.h>"),
    ("proxy/session/session.h", '#include "proxy/pool/pool.h"'),
    ("proxy/session/session.h", '#include "proxy/io/stream.h"'),
    ("proxy/session/session.cpp", "#include <pg_query.h>"),
    ("proxy/pool/pool.h", '#include "proxy/gate/gate.h"'),
    ("proxy/admin/views.cpp", '#include "proxy/gate/gate.h"'),
    ("proxy/io/stream.cpp", '#include "proxy/app/server.h"'),
    ("proxy/io/stream.cpp", '#include "../app/server.h"'),
    ("proxy/io/stream.cpp", '#include "stream.h"'),
    ("proxy/io/stream.cpp", "#include <boost/asio.hpp>"),
    ("proxy/app/server.cpp", "#include <uv.h>"),
    ("proxy/app/server.cpp", "#include <libpq-fe.h>"),
    ("proxy/app/server.cpp", "#include <thread>"),
    ("proxy/app/server.cpp", "uint64_t now = uv_hrtime();"),
    ("proxy/main.cpp", "#include <httplib.h>"),
    ("proxy/main.cpp", "#include <catch2/catch.hpp>"),
    ("tests/sim/wire.cpp", "usleep(10);"),
    ("elsewhere/file.cpp", "int x;"),
]

ALLOWED = [
    ("protocol/framer.cpp", '#include "protocol/framer.h"'),
    ("protocol/scram.cpp", "#include <openssl/evp.h>"),
    ("config/classify.cpp", '#include "protocol/query_tags.h"'),
    ("config/pattern.cpp", "#include <re2/re2.h>"),
    ("config/yaml.cpp", "#include <yaml-cpp/yaml.h>"),
    ("config/options.cpp", "#include <CLI/CLI.hpp>"),
    ("proxy/gate/gate.cpp", '#include "proxy/base/check.h"'),
    ("proxy/gate/gate.cpp", "#include <fmt/format.h>"),
    ("proxy/gate/gate.cpp", "// Nothing here asks steady_clock."),
    ("proxy/gate/gate.cpp", 'text = "steady_clock";'),
    ("proxy/metrics/families.cpp", "#include <prometheus/registry.h>"),
    ("proxy/io/loop.cpp", "#include <uv.h>"),
    ("proxy/io/loop.cpp", "#include <thread>"),
    ("proxy/io/loop.cpp", "return Instant(std::chrono::steady_clock::now());"),
    ("proxy/app/server.cpp", '#include "proxy/io/loop.h"'),
    ("proxy/cli/run.cpp", '#include "proxy/app/server.h"'),
    ("proxy/main.cpp", '#include "proxy/cli/run.h"'),
    ("tests/unit/gate/gate_test.cpp", '#include "tests/support/catch.h"'),
    ("tests/bench/gate.cpp", "#include <benchmark/benchmark.h>"),
]


@pytest.mark.parametrize("path, line", FORBIDDEN)
def test_the_include_table_complains(path, line):
    complaints = include_table.check(Path(path), "#pragma once\n" + line)
    assert [number for number, _ in complaints] == [1 if row_is_missing(path) else 2]


@pytest.mark.parametrize("path, line", ALLOWED)
def test_the_include_table_is_content(path, line):
    assert include_table.check(Path(path), "#pragma once\n" + line) == []


def test_a_header_without_pragma_once_is_noticed():
    assert include_table.check(Path("proxy/gate/gate.h"), "int x;\n") != []


LONG = "x = 1\n" * 401


@pytest.mark.parametrize(
    "path, text",
    [
        ("proxy/gate/gate.cpp", LONG),
        ("tests/integration/a_test.py", "import time\ntime.sleep(1)\n"),
        ("tests/integration/run", "#!/bin/bash\nwhile true; do sleep 1; done\n"),
        ("proxy/gate/gate.cpp", "// TODO: more\n"),
        ("proxy/gate/gate.cpp", "// Good enough for now.\n"),
        ("README.md", "see /home/someone/notes\n"),
        ("README.md", "see [the gate](proxy/no_such_gate.md)\n"),
    ],
)
def test_the_house_rules_complain(path, text, tmp_path):
    assert house_rules.check(Path(path), text, tmp_path) != []


@pytest.mark.parametrize(
    "path, text",
    [
        ("proxy/gate/gate.cpp", "// Longer than 400 lines: one table.\n" + LONG),
        ("tests/scripts/gate/long.txt", LONG),
        ("tests/integration/a_test.py", "run('select pg_sleep(0.05)')\n"),
        ("tests/support/wait.py", "time.sleep(0.01)  # lint: the poll interval\n"),
        ("README.md", "see [the gate](here.md#top), [web](https://example.org/x), `[x](y)`\n"),
        ("README.md", "```\n[x](nowhere)\n```\n"),
    ],
)
def test_the_house_rules_are_content(path, text, tmp_path):
    (tmp_path / "here.md").touch()
    (tmp_path / "y").touch()
    assert house_rules.check(Path(path), text, tmp_path) == []


def test_the_path_of_the_checkout_is_noticed(tmp_path):
    assert house_rules.check(Path("README.md"), f"cd {tmp_path}/proxy\n", tmp_path) != []


def test_a_folder_of_the_product_without_a_map_is_noticed():
    source = Path("proxy/gate/gate.cpp")
    assert house_rules.check_maps([source]) == [Path("proxy/gate")]
    assert house_rules.check_maps([source, Path("proxy/gate/README.md")]) == []
