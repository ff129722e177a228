"""The tables that a person reads."""

HEADINGS = (
    f"{'':43}{'processor time per transaction, µs':^48}  {'system calls':>13}  {'p50 / p99, ms':^31}",
    f"{'workload, clients on backends, transport':43}{'PgBouncer':>9}{'pgbulkhead':>11}{'user + sys':>12}"
    f"{'ratio':>7} {'(range)':>12} {'PgB':>8}{'pgb':>6}  {'PgBouncer':>15}{'pgbulkhead':>16}",
)


def latency(figures):
    return f"{figures['p50_ms']:.2f} / {figures['p99_ms']:.2f}"


def row(cell):
    its, mine = cell["peers"]["pgbouncer"], cell["peers"]["pgbulkhead"]
    split = f"{mine['user_us']:.1f} + {mine['system_us']:.1f}"
    mark = "!" if missed(cell) else " "
    spread = f"({cell['ratio_min']:.2f}–{cell['ratio_max']:.2f})"
    return (f"{cell['name']:43}{its['total_us']:9.1f}{mine['total_us']:11.1f}{split:>12}{cell['ratio']:7.2f}{mark}"
            f"{spread:>12} {its['syscalls']:8.1f}{mine['syscalls']:6.1f}  {latency(its):>15}{latency(mine):>16}")


def missed(cell):
    return round(cell["ratio"], 2) > cell["goal"]


def proxy_table(cells):
    yield from HEADINGS
    yield "─" * len(HEADINGS[1])
    for cell in cells:
        yield row(cell)
    count = sum(missed(cell) for cell in cells)
    yield ""
    yield "Goal for the ratio: at most 1.00 with a backend for each client, 0.85 when clients queue for backends."
    yield f"Missed in {count} of {len(cells)} (marked !)." if count else "Reached everywhere."


def refusal_lines(figures):
    mark = "!" if round(figures["ratio"], 2) > figures["goal"] else ""
    yield (f"A refused query costs {figures['refused_us']:.1f} µs of processor time, a forwarded one "
           f"{figures['forwarded_us']:.1f}: {figures['ratio']:.2f}{mark} (goal: at most {figures['goal']:.2f}).")


def gate_table(rows):
    yield f"{'the gate, per transaction':27}{'ns':>8}{'goal':>8}{'reference':>11}{'instructions':>14}{'bytes':>7}"
    for figures in rows:
        goal, reference = ("–" if ns is None else f"{ns:.1f}" for ns in (figures["goal_ns"], figures["reference_ns"]))
        name = "(the empty loop)" if figures["operation"] == "nothing" else figures["operation"]
        yield (f"{name:27}{figures['ns']:8.2f}{goal:>8}{reference:>11}{figures['instructions']:14.1f}"
               f"{figures['bytes_allocated']:7}")
