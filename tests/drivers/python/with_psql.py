"""psql, pgbench and pg_dump as people use them, with Debian's libpq."""

import os
import re
import subprocess
import tempfile
import threading

from checks import DATABASE, HOST, PORT, TIGHT, USER, check, same

SECONDS = 60


def run(*command, text=None, name="", fine=True, user=USER):
    """Runs a program to its end; (stdout, stderr)."""
    environment = {
        **os.environ,
        "PGHOST": HOST,
        "PGPORT": str(PORT),
        "PGDATABASE": DATABASE,
        "PGUSER": user,
        "PGAPPNAME": name,
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        command,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if fine and done.returncode:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def psql(text, **options):
    """What psql prints for a script, unaligned and without headers."""
    return run("psql", "-XAtq", text=text, **options)[0]


def login():
    same(psql("show application_name;", name="before"), "before\n")
    same(psql("\\conninfo\n").count(f'as user "{USER}"'), 1)


def simple():
    same(psql("select 1, 'two';\nselect 3 \\; select 4;\n"), "1|two\n3\n4\n")
    assert "public|t|table" in psql("\\dt\n")
    assert "a|integer" in psql("\\d t\n")


def prepared():
    same(
        psql("prepare plan as select $1::int + 1;\nexecute plan(1);\nexecute plan(2);\n"), "2\n3\n"
    )


def commit():
    same(psql("begin;\ninsert into t values (1, 'psql');\ncommit;\n"), "")
    same(psql("select count(*) from t where b = 'psql';"), "1\n")
    # -1 wraps the script into one transaction.
    run("psql", "-Xq1", "-c", "insert into t values (2, 'psql')", "-c", "select 1 + 0")
    same(psql("select count(*) from t where b = 'psql';"), "2\n")


def rollback():
    script = "begin;\nsavepoint a;\ninsert into t values (3, 'away');\nrollback to a;\nrollback;\n"
    same(psql(script + "select count(*) from t where b = 'away';"), "0\n")


def error():
    out, err = run("psql", "-XAtq", text="select 1/0;\n\\errverbose\nselect 5;\n")
    same(out, "5\n")
    assert "22012" in err, err
    out, _ = run(
        "psql",
        "-XAtq",
        "--set=ON_ERROR_ROLLBACK=on",
        text="begin;\nselect 1/0;\nselect 6;\ncommit;\n",
    )
    same(out, "6\n")


def copy():
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"{number}\tline {number}\n" for number in range(20000))
        with open(f"{folder}/rows", "w", encoding="utf-8") as file:
            file.write(lines)
        psql(f"\\copy t from '{folder}/rows'\n")
        psql(f"\\copy (select * from t where b like 'line %' order by a) to '{folder}/back'\n")
        with open(f"{folder}/back", encoding="utf-8") as file:
            same(file.read() == lines, True)
    same(
        psql("copy t from stdin;\n7\tinline\n\\.\nselect b from t where b = 'inline';\n"),
        "inline\n",
    )


def cursor():
    out = psql("\\set FETCH_COUNT 100\nselect generate_series(1, 1000);\n")
    same(len(out.split()), 1000)


def watch():
    """\\watch repeats for ever; a division by zero on the fourth round ends it."""
    out, err = run(
        "psql",
        "-XAtq",
        text="create temporary sequence rounds;\n"
        "select 'round', 1 / (4 - nextval('rounds')) \\watch 0.05\n",
    )
    same(out.count("round"), 3)
    assert "division by zero" in err, err


def gexec():
    same(psql("select 'select ' || n from generate_series(1, 3) n \\gexec\n"), "1\n2\n3\n")


def cancel():
    """Ctrl-C: psql sends a CancelRequest."""
    environment = {**os.environ, "PGHOST": HOST, "PGPORT": str(PORT), "PGUSER": USER}
    process = subprocess.Popen(
        ["psql", "-XAtq", DATABASE],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("\\echo ready\nselect pg_sleep(20);\n")
    process.stdin.flush()
    same(process.stdout.readline(), "ready\n")
    timer = threading.Timer(0.3, process.send_signal, [2])
    timer.start()
    err = process.communicate(timeout=15)[1]
    assert "canceling statement due to user request" in err, err


def notify():
    out = psql("listen psql;\nnotify psql, 'word';\nselect 1;\n")
    assert 'notification "psql" with payload "word"' in out, out


def pgbench():
    run("pgbench", "-i", "-q", "-s", "1")
    for mode in ("simple", "extended", "prepared"):
        out, err = run("pgbench", "-n", "-M", mode, "-c", "8", "-j", "2", "-t", "40")
        assert re.search(r"actually processed: 320/320", out), out + err
        assert "number of failed transactions: 0 " in out, out
    same(psql("select count(*) from pgbench_history;"), "960\n")
    same(
        psql(
            "select sum(abalance) = (select sum(delta) from pgbench_history)"
            " from pgbench_accounts;"
        ),
        "t\n",
    )


def dumped(options):
    """The schema as a script; newer programs put a random word around it, which is left out."""
    text, _ = run("pg_dump", "-n", "dumped", *options, user="postgres")
    return re.sub(r"(?m)^\\(un)?restrict .*\n", "", text)


def dump():
    """pg_dump | psql: a schema is dumped, dropped, restored, and the same."""
    server = int(psql("show server_version_num;")) // 10000
    own = int(re.search(r" (\d+)", run("pg_dump", "--version")[0])[1])
    if server > own:
        return
    psql(
        "create schema dumped;\ncreate table dumped.a (id serial primary key, b text, c jsonb);\n"
        "insert into dumped.a (b, c) select 'ä' || n, '{}' from generate_series(1, 5000) n;\n"
        "create view dumped.v as select count(*) from dumped.a;\n",
        user="postgres",
    )
    for options in (["--inserts", "--rows-per-insert=100"], []):
        text = dumped(options)
        psql("drop schema dumped cascade;", user="postgres")
        psql(text, user="postgres")
        same(dumped(options) == text, True)
    same(psql("select * from dumped.v;", user="postgres"), "5000\n")
    psql("drop schema dumped cascade;", user="postgres")


def held():
    """A psql that holds the only permit; `communicate` with a rollback ends it."""
    holder = subprocess.Popen(
        ["psql", "-XAtq", "-h", HOST, "-p", str(PORT), "-U", USER, DATABASE],
        env={**os.environ, "PGAPPNAME": TIGHT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    holder.stdin.write("begin;\nselect 1;\n")
    holder.stdin.flush()
    same(holder.stdout.readline(), "1\n")
    return holder


def refused(text):
    """What psql prints for a script whose statements are refused, both ways."""
    verbose = ("psql", "-XAtq", "--set=VERBOSITY=verbose")
    return run(*verbose, name=TIGHT, fine=False, text=text)


def refusal_autocommit():
    holder = held()
    out, err = refused("select 2;\n\\echo :SQLSTATE\nselect 2;\n\\echo :SQLSTATE\n")
    assert "reason=queue_timeout" in err, err
    same(out, "40001\n40001\n")
    holder.communicate("rollback;\n", timeout=10)
    same(psql("select 9;", name=TIGHT), "9\n")


def refusal_block():
    holder = held()
    out, err = refused("begin;\nselect 1;\nselect 2;\nrollback;\n\\echo :SQLSTATE\n")
    assert "40001" in err and "25P02" in err, err
    same(out, "00000\n")
    holder.communicate("rollback;\n", timeout=10)


def refusal_pipeline():
    """Several statements in one text are refused as a whole."""
    holder = held()
    insert = "insert into t values (77, 'refused psql')"
    out, err = refused(f"{insert}\\; {insert};\n\\echo :SQLSTATE\n")
    same((out, err.count("40001")), ("40001\n", 1))
    holder.communicate("rollback;\n", timeout=10)
    same(psql("select count(*) from t where b = 'refused psql';"), "0\n")


for body in (
    login,
    simple,
    prepared,
    commit,
    rollback,
    error,
    copy,
    cursor,
    watch,
    gexec,
    cancel,
    notify,
    pgbench,
    dump,
    refusal_autocommit,
    refusal_block,
    refusal_pipeline,
):
    check(body.__name__, body)
