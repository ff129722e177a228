"""BEGIN and its relatives: answered by the proxy itself until a statement needs a backend, and
nobody can tell."""

import pytest

from support.messages import Q, S, batch, query_batch
from support.oracle import Z, case, compare, ready


@pytest.fixture(scope="module")
def proxy(module_proxy, postgres):
    return module_proxy(postgres)


# Each program is played three times: by simple queries, by extended batches, and by simple queries
# in one write.
PROGRAMS = {
    "begin and commit": ["begin", "commit"],
    "begin and rollback": ["begin", "rollback"],
    "begin and end": ["begin work", "end work"],
    "start transaction and abort": ["start transaction", "abort transaction"],
    "begin, insert, commit": ["begin", "insert into t values (1)", "commit"],
    "begin, insert, rollback": ["begin", "insert into t values (1)", "rollback"],
    "begin in capitals with comments": [
        "/* a */ BEGIN /* b */ ; -- c",
        "select 1 + 0",
        "/* x */COMMIT;",
    ],
    "begin with a tag": [
        "begin /*application='x',action='y'*/",
        "select 1 + 0",
        "commit /*application='x'*/",
    ],
    "begin between nested comments": ["/* /* */ */ begin", "select 1 + 0", "rollback"],
    "begin behind a line comment": ["-- begin\nbegin", "select 1 + 0", "rollback"],
    "begin with semicolons": [";begin;;", "select 1 + 0", " ; commit ; "],
    "begin twice": ["begin", "begin", "select 1 + 0", "commit"],
    "begin twice with work between": ["begin", "select 1 + 0", "begin", "commit"],
    "start transaction inside begin": [
        "begin",
        "start transaction read only",
        "show transaction_read_only",
        "commit",
    ],
    "commit of nothing": ["commit"],
    "warnings that nobody wants": [
        "set client_min_messages to error",
        "commit",
        "begin",
        "begin",
        "rollback",
        "rollback",
        "set client_min_messages to warning",
        "commit",
    ],
    "warnings that nobody wanted in a transaction": [
        "begin",
        "set local client_min_messages = 'ERROR'",
        "begin",
        "commit",
        "commit",
    ],
    "rollback of nothing": ["rollback"],
    "end and abort of nothing": ["end", "abort"],
    "commit and chain of nothing": ["commit and chain", "select 1 + 0"],
    "rollback and chain of nothing": ["rollback and chain", "select 1 + 0"],
    "commit and no chain": ["begin", "commit and no chain"],
    "commit and chain of an empty block": [
        "begin isolation level serializable",
        "commit and chain",
        "show transaction_isolation",
        "commit",
    ],
    "rollback and chain of an empty block": [
        "begin",
        "rollback and chain",
        "insert into t values (1)",
        "commit",
    ],
    "commit and chain after work": [
        "begin",
        "insert into t values (1)",
        "commit and chain",
        "insert into t values (2)",
        "rollback",
    ],
    "rollback and chain of a failed block": [
        "begin",
        "select 1/0",
        "rollback and chain",
        "insert into t values (1)",
        "commit",
    ],
    "commit and chain of a failed block": [
        "begin",
        "select 1/0",
        "commit and chain",
        "select 1 + 0",
        "commit",
    ],
    "a chain keeps the modes": [
        "begin read only",
        "commit and chain",
        "insert into t values (1)",
        "rollback",
    ],
    "serializable": [
        "begin isolation level serializable read only deferrable",
        "show transaction_isolation",
        "show transaction_deferrable",
        "commit",
    ],
    "read only refuses a write": ["begin read only", "insert into t values (1)", "commit"],
    "modes with commas": [
        "start transaction isolation level repeatable read, read only, not deferrable",
        "show transaction_isolation",
        "commit",
    ],
    "read uncommitted": [
        "begin transaction isolation level read uncommitted",
        "show transaction_isolation",
        "commit",
    ],
    "modes that contradict each other": [
        "begin read only read write",
        "show transaction_read_only",
        "commit",
    ],
    "an unknown mode": ["begin isolation level bogus", "select 1 + 0"],
    "a mode that is cut off": ["begin isolation", "select 1 + 0"],
    "words behind begin": ["begin please", "select 1 + 0"],
    "words behind commit": ["begin", "commit please", "select 1 + 0", "rollback"],
    "begin in an open comment": ["begin /* open", "select 1 + 0"],
    "begin with a dangling comma": ["begin read only,", "select 1 + 0"],
    "work behind begin in one text": ["begin; insert into t values (1)", "commit"],
    "set transaction": [
        "begin",
        "set transaction isolation level serializable",
        "show transaction_isolation",
        "commit",
    ],
    "set transaction read only": [
        "begin",
        "set transaction read only",
        "insert into t values (1)",
        "rollback",
    ],
    "set transaction and commit": [
        "begin",
        "set transaction read only",
        "commit",
        "insert into t values (1)",
    ],
    "set transaction too late": [
        "begin",
        "select 1 from t",
        "set transaction isolation level serializable",
        "rollback",
    ],
    "set local transaction": [
        "begin",
        "set local transaction isolation level repeatable read",
        "show transaction_isolation",
        "commit",
    ],
    "set transaction outside a block": ["set transaction read only", "select 1 + 0"],
    "set session characteristics": [
        "set session characteristics as transaction read only",
        "begin",
        "insert into t values (1)",
        "rollback",
        "set session characteristics as transaction read write",
    ],
    "a snapshot that does not exist": [
        "begin isolation level repeatable read",
        "set transaction snapshot 'nope'",
        "select 1 + 0",
        "rollback",
    ],
    "set in a block": [
        "begin",
        "set local work_mem = '1MB'",
        "show work_mem",
        "commit",
        "show work_mem",
    ],
    "a leading savepoint": [
        "begin",
        "savepoint a",
        "insert into t values (1)",
        "rollback to a",
        "insert into t values (2)",
        "commit",
    ],
    "a leading savepoint and commit": ["begin", "savepoint a", "commit"],
    "a leading savepoint, released": ["begin", "savepoint a", "release a", "commit"],
    "a leading savepoint, rolled back to": [
        "begin",
        "savepoint a",
        "rollback to savepoint a",
        "select 1 + 0",
        "commit",
    ],
    "two leading savepoints of one name": [
        "begin",
        "savepoint a",
        "savepoint a",
        "release a",
        "release a",
        "commit",
    ],
    "a savepoint with odd quotes": [
        "begin",
        'savepoint "A b"',
        "select 1 + 0",
        'rollback to "A b"',
        "commit",
    ],
    "more leading savepoints than are kept": [
        "begin",
        *[f"savepoint s{i}" for i in range(12)],
        "insert into t values (1)",
        "rollback to s3",
        "release s0",
        "commit",
    ],
    "a savepoint outside a block": ["savepoint a", "select 1 + 0"],
    "release outside a block": ["release a", "select 1 + 0"],
    "rollback to outside a block": ["rollback to a", "select 1 + 0"],
    "an unknown savepoint in an empty block": ["begin", "rollback to nope", "select 1 + 0", "commit"],
    "release of an unknown savepoint in an empty block": ["begin", "release nope", "commit"],
    "rollback to in a failed block": [
        "begin",
        "savepoint a",
        "select 1/0",
        "rollback to a",
        "insert into t values (1)",
        "commit",
    ],
    "an unknown savepoint in a failed block": ["begin", "select 1/0", "rollback to nope", "commit"],
    "a failed block": [
        "begin",
        "select 1/0",
        "select 1 + 0",
        "begin",
        "",
        "set work_mem = '1MB'",
        "savepoint a",
        "commit",
    ],
    "an error as the first statement": ["begin", "selec", "insert into t values (1)", "commit"],
    "prepare transaction of an empty block": [
        "begin",
        "prepare transaction 'empty'",
        "rollback prepared 'empty'",
    ],
    "empty queries around": ["begin", "", ";", "-- ping", "select 1 + 0", "", "commit", ""],
    "empty queries in an empty block": ["begin", "", ";", "commit"],
    "a utility that wants no block": ["begin", "vacuum t", "rollback"],
    "declare and fetch": [
        "begin",
        "declare c cursor for select generate_series(1, 3)",
        "fetch 2 c",
        "close c",
        "commit",
    ],
    "lock table": ["begin", "lock table t", "commit"],
    "a key that is checked at the commit": [
        "begin",
        "insert into late values (1), (1)",
        "commit",
        "select 1 + 0",
    ],
    "two blocks": [
        "begin",
        "insert into t values (1)",
        "commit",
        "begin",
        "insert into t values (2)",
        "rollback",
    ],
    "three empty blocks": ["begin", "commit", "begin", "rollback", "begin", "commit"],
    "the status of the transaction": [
        "begin",
        "select now() = now(), pg_current_xact_id_if_assigned()",
        "commit",
    ],
}


def by_queries(name, texts):
    return case(f"queries: {name}", *[step for text in texts for step in (Q(text), Z)])


def by_batches(name, texts):
    return case(f"batches: {name}", *[step for text in texts for step in (query_batch(text), Z)])


def in_one_write(name, texts):
    return case(f"one write: {name}", b"".join(map(Q, texts)), ready(len(texts)))


def batches_in_one_write(name, texts):
    return case(
        f"batches in one write: {name}", b"".join(map(query_batch, texts)), ready(len(texts))
    )


def before_one_sync(name, texts):
    return case(f"one Sync: {name}", b"".join(map(batch, texts)) + S, Z)


WAYS = [by_queries, by_batches, in_one_write, batches_in_one_write, before_one_sync]


@pytest.mark.parametrize(
    "made", [way(name, texts) for way in WAYS for name, texts in PROGRAMS.items()]
)
def test_programs_of_transaction_control_answer_as_in_postgresql(postgres, proxy, made):
    compare(postgres, proxy, made)
