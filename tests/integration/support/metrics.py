"""Reads the Prometheus text of /metrics. The names of the families are spelled here and nowhere
else."""

import re

WORKLOAD = "pgbulkhead_workload_"

# The gauges of a workload that are zero when nobody works.
HELD = ("running", "waiting", "parked", "pinned", "orphaned")

_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    def __init__(self, text):
        self.text = text
        self.samples = []
        for line in text.splitlines():
            if line and not line.startswith("#"):
                found = _LINE.match(line)
                assert found, f"not a sample: {line!r}"
                name, labels, value = found.groups()
                self.samples.append((name, dict(_LABEL.findall(labels or "")), float(value)))

    def sum(self, name, **labels):
        """The sum of all samples of the family with these labels; a missing family is a failure."""
        family = [sample for sample in self.samples if sample[0] == name]
        assert family, f"no family {name} in:\n{self.text[:4000]}"
        return sum(value for _, has, value in family if labels.items() <= has.items())

    def gauge(self, what, workload=None):
        return self.sum(WORKLOAD + what, **({"workload": workload} if workload else {}))

    def admitted(self, workload):
        return self.sum(WORKLOAD + "admitted_total", workload=workload)

    def rejected(self, workload, reason):
        return self.sum(WORKLOAD + "rejected_total", workload=workload, reason=reason)

    def held(self):
        """What must be zero when nobody works: {name: value} of the gauges that are not."""
        values = {what: self.gauge(what) for what in HELD}
        return {what: value for what, value in values.items() if value}
