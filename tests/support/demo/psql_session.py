"""A psql that is spoken to line by line, as a person would."""

import subprocess


class PsqlSession:
    """`host` and `port` of a proxy or server; user and database as the kit makes them."""

    def __init__(self, host, port, user, database):
        self._process = subprocess.Popen(
            ["psql", "-XqAt", "-h", host, "-p", str(port), "-U", user, "-d", database],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )

    def run(self, sql):
        """(rows as texts, SQLSTATE): `00000` when all went well."""
        self._process.stdin.write(f"{sql}\n\\echo sqlstate :SQLSTATE\n")
        self._process.stdin.flush()
        rows = []
        for line in self._process.stdout:
            if line.startswith("sqlstate "):
                return rows, line.split()[1]
            rows.append(line.rstrip("\n"))
        raise ConnectionError("psql has lost its connection")

    def close(self):
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()
