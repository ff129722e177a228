"""What the Python programs share: where to connect, and one line per check."""

import os

HOST = os.environ["DRIVER_HOST"]
PORT = int(os.environ["DRIVER_PORT"])
DATABASE = os.environ["DRIVER_DATABASE"]
USER = os.environ["DRIVER_USER"]
# The application_name of a workload with one permit and a short wait; empty when there is no proxy.
TIGHT = os.environ.get("DRIVER_TIGHT", "")


def _tell(name, error):
    if error is None:
        print("ok", name, flush=True)
    else:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"not ok {name}: {words[:300]}", flush=True)


def check(name, body):
    """Runs `body` and prints its line. `refusal` needs a proxy."""
    if name.startswith("refusal") and not TIGHT:
        print("skip", name, flush=True)
        return
    error = None
    try:
        body()
    except Exception as failure:  # pylint: disable=broad-except
        error = failure
    _tell(name, error)


async def check_async(name, body):
    """The same for a coroutine function."""
    if name.startswith("refusal") and not TIGHT:
        print("skip", name, flush=True)
        return
    error = None
    try:
        await body()
    except Exception as failure:  # pylint: disable=broad-except
        error = failure
    _tell(name, error)


def same(got, expected):
    if got != expected:
        raise AssertionError(f"{got!r} is not {expected!r}")


def fails(code, body):
    """`body` must fail with the SQLSTATE `code`, wherever the driver keeps it."""
    try:
        body()
    except Exception as error:  # pylint: disable=broad-except
        same(sqlstate(error), code)
        return error
    raise AssertionError(f"no error where {code} was due")


def sqlstate(error):
    """Of a driver's error, or of the one that a framework wrapped."""
    for candidate in (error, getattr(error, "orig", None), error.__cause__):
        for name in ("sqlstate", "pgcode"):
            if getattr(candidate, name, None):
                return getattr(candidate, name)
    return f"no SQLSTATE in {type(error).__name__}: {error}"
