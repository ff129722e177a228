"""The table at the end of the demo: one run in each column, from the JSON of pgb_load."""

BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
LABEL_WIDTH, COLUMN_WIDTH = 38, 24


def rate(count, run):
    return f"{count / run['seconds']:,.0f} /s"


def ms(value):
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms" if value >= 10 else f"{value:.2f} ms"


def latency(histogram):
    if not histogram["count"]:
        return "–"
    return f"{ms(histogram['p50_ms'])} / {ms(histogram['p99_ms'])}"


def refusal_latency(run):
    histogram = run["refused_latency"] if run["refused"] else run["login_refused_latency"]
    return latency(histogram)


def rows(runs):
    """(label, one text per run) of each line."""
    yield "useful transactions a second", [f"{run['useful_per_s']:,.0f}" for run in runs]
    yield "admitted, p50 / p99", [latency(run["ok_latency"]) for run in runs]
    yield "until done, all tries, p50 / p99", [latency(run["ok_with_retries"]) for run in runs]
    for reason in sorted({reason for run in runs for reason in run["refused_by"]}):
        counts = [run["refused_by"].get(reason, 0) for run in runs]
        yield f"refused: {reason}", [rate(count, run) for count, run in zip(counts, runs)]
    for code in sorted({code for run in runs for code in run["logins_refused_by"]}):
        counts = [run["logins_refused_by"].get(code, 0) for run in runs]
        yield f"connection refused: {code}", [rate(count, run) for count, run in zip(counts, runs)]
    yield "a refusal took, p50 / p99", [refusal_latency(run) for run in runs]
    for code in sorted({code for run in runs for code in run["errors_by"]}):
        counts = [run["errors_by"].get(code, 0) for run in runs]
        yield f"failed in PostgreSQL: {code}", [rate(count, run) for count, run in zip(counts, runs)]
    yield "connections lost", [f"{run['connections_lost']:,}" for run in runs]
    yield "clients never served", [f"{run['clients']['never_served']} of {run['clients']['count']}" for run in runs]
    yield "most backends PostgreSQL saw", [str(run["sampled"]["max"]) for run in runs]


def render(runs, headings, styled):
    """The lines of the table."""
    bold, dim, plain = (BOLD, DIM, PLAIN) if styled else ("", "", "")
    yield "  " + " " * LABEL_WIDTH + bold + "".join(f"{heading:>{COLUMN_WIDTH}}" for heading in headings) + plain
    yield "  " + dim + "─" * (LABEL_WIDTH + COLUMN_WIDTH * len(headings)) + plain
    for label, values in rows(runs):
        yield f"  {label:<{LABEL_WIDTH}}" + "".join(f"{value:>{COLUMN_WIDTH}}" for value in values)
