"""The results: what a program printed, the table for people, and a JUnit file for scripts/test."""

import pathlib
import re
import xml.etree.ElementTree as tree

import known

# Every program has these, in this order, or says in README.md why not; others come under "more".
COLUMNS = (
    "login",
    "simple",
    "prepared",
    "commit",
    "rollback",
    "error",
    "copy",
    "cancel",
    "notify",
    "refusal_autocommit",
    "refusal_block",
    "refusal_pipeline",
)
LINE = re.compile(r"^(ok|not ok|skip) ([\w.-]+)(?:: (.*))?$")


def parse(text):
    """{check: "" when it is ok, else what is wrong; None when it was left out}."""
    checks = {}
    for line in text.splitlines():
        found = LINE.match(line)
        if found:
            word, name, why = found.groups()
            checks[name] = {"ok": "", "skip": None}.get(word, why or "no reason given")
    return checks


class Table:
    def __init__(self, server):
        self._server = server
        self._rows = []
        self._missing = []
        self._complaints = []
        self._explained = []

    def add(self, name, direct, through, seconds):
        checks = list(direct) + [check for check in through or {} if check not in direct]
        cells = {}
        for check in checks:
            cells[check] = self._judge(name, check, direct, through)
        self._rows.append((name, cells, seconds))
        self._print_row(name, cells, seconds)

    def add_missing(self, name, why):
        self._missing.append((name, why))
        print(f"{name:<18} is not installed: {why}", flush=True)

    def _judge(self, name, check, direct, through):
        """The cell: ok, left out (-), or what failed."""
        reason = known.DIFFERENCES.get((name, check)) or known.BY_SERVER.get(
            (name, check, self._server)
        )
        alone = direct.get(check, "the check is missing")
        # Some checks are about the proxy, and are left out without it.
        if alone and not reason:
            self._complaints.append(f"{name} {check}, directly: {alone}")
            return "DIRECT"
        if through is None:
            return "-" if alone is None else "ok"
        beside = through.get(check, "the check is missing")
        if beside and not reason:
            self._complaints.append(f"{name} {check}, through the proxy: {beside}")
            return "FAILS"
        if beside or alone:
            self._explained.append(f"{name} {check}: {reason}")
            return "known"
        if reason and beside == "":
            self._explained.append(f"{name} {check} does not differ any more: known.py can shrink")
        return "-" if beside is None else "ok"

    def _print_row(self, name, cells, seconds):
        if len(self._rows) == 1:
            heads = (f"{column.replace('refusal_', 'r.')[:8]:>8}" for column in COLUMNS)
            print(f"{'driver':<18}", *heads, "    more  seconds")
        shown = [f"{cells.get(column, '-'):>8}" for column in COLUMNS]
        others = [cells[check] for check in cells if check not in COLUMNS]
        more = f"{others.count('ok')}/{len(others) - others.count('-')}"
        print(f"{name:<18}", *shown, f"{more:>8} {seconds:>8.1f}", flush=True)

    def _counts(self):
        cells = [cell for _, row, _ in self._rows for cell in row.values()]
        return cells.count("ok"), cells.count("known"), cells.count("FAILS") + cells.count("DIRECT")

    def finish(self):
        """Prints what needs words; the exit code."""
        for line in self._explained:
            print(f"known: {line}")
        for line in self._complaints:
            print(f"FAILS: {line}")
        good, explained, bad = self._counts()
        print(
            f"PostgreSQL {self._server}: {len(self._rows)} programs, {good} checks the same,"
            f" {explained} known to differ, {bad} fail, {len(self._missing)} not installed"
        )
        return 1 if bad or self._missing or not self._rows else 0

    def write_junit(self, path):
        suite = tree.Element("testsuite", name="drivers")
        for name, cells, _ in self._rows:
            for check, cell in cells.items():
                case = tree.SubElement(suite, "testcase", classname=name, name=check)
                if cell in ("FAILS", "DIRECT"):
                    tree.SubElement(case, "failure", message=cell)
                elif cell in ("-", "known"):
                    tree.SubElement(case, "skipped")
        for name, why in self._missing:
            case = tree.SubElement(suite, "testcase", classname=name, name="installed")
            tree.SubElement(case, "failure", message=why)
        counts = {"failures": len(suite.findall("*/failure")), "errors": 0}
        counts["skipped"] = len(suite.findall("*/skipped"))
        suite.attrib.update({"tests": str(len(suite)), **{k: str(v) for k, v in counts.items()}})
        root = tree.Element("testsuites")
        root.append(suite)
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        tree.ElementTree(root).write(path)
