"""asyncpg: binary formats, statements prepared by name and cached, its pool with its reset query."""

import asyncio
import os

import asyncpg
from checks import DATABASE, HOST, PORT, TIGHT, USER, check_async, same

SSL = os.environ.get("DRIVER_SSLMODE") == "require" and "require"
WHERE = {"host": HOST, "port": PORT, "database": DATABASE, "user": USER, "ssl": SSL}


def connect(**settings):
    return asyncpg.connect(**WHERE, server_settings=settings)


async def fails(code, awaitable):
    try:
        await awaitable
    except asyncpg.PostgresError as error:
        same(error.sqlstate, code)
        return error
    raise AssertionError(f"no error where {code} was due")


async def count(connection):
    return await connection.fetchval("select count(*) from t")


async def login():
    connection = await connect(work_mem="5MB", application_name="before")
    same(await connection.fetchval("show work_mem"), "5MB")
    same(await connection.fetchval("show application_name"), "before")
    await connection.close()


async def simple():
    connection = await connect()
    same(await connection.execute("select 1; select 2, 3"), "SELECT 1")
    same(tuple(await connection.fetchrow("select 1, 'two'")), (1, "two"))
    await connection.close()


async def prepared():
    connection = await connect()
    plan = await connection.prepare("select $1::int + 1")
    for number in range(5):
        async with connection.transaction():
            same(await plan.fetchval(number), number + 1)
        same(await connection.fetchval("select $1::text || 'x'", str(number)), f"{number}x")
    await connection.close()


async def commit():
    connection = await connect()
    before = await count(connection)
    async with connection.transaction(isolation="repeatable_read"):
        await connection.execute("insert into t values ($1, $2)", 1, "one")
    same(await count(connection), before + 1)
    await connection.close()


async def rollback():
    connection = await connect()
    before = await count(connection)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("insert into t values (1, 'one')")
    async with connection.transaction():
        await connection.execute("insert into t values (2, 'two')")
    await transaction.rollback()
    same(await count(connection), before)
    await connection.close()


async def error():
    connection = await connect()
    await fails("22012", connection.fetchval("select 1 / $1::int", 0))
    same(await connection.fetchval("select $1::int", 1), 1)
    await connection.close()


async def copy():
    connection = await connect()
    before = await count(connection)
    records = [(number, f"row {number}") for number in range(2000)]
    await connection.copy_records_to_table("t", records=records)
    same(await count(connection), before + 2000)
    await connection.executemany("insert into t values ($1, $2)", records[:300])
    same(await count(connection), before + 2300)
    got = bytearray()

    async def take(data):
        got.extend(data)

    await connection.copy_from_query("select 1, 'x'", output=take)
    same(bytes(got), b"1\tx\n")
    await connection.close()


async def cursors():
    connection = await connect()
    total = 0
    async with connection.transaction():
        async for row in connection.cursor("select generate_series(1, 1000)", prefetch=100):
            total += row[0]
    same(total, 500500)
    await connection.close()


async def cancel():
    connection = await connect()
    try:
        await connection.execute("select pg_sleep(20)", timeout=0.3)
        raise AssertionError("not cancelled")
    except asyncio.TimeoutError:
        pass
    same(await connection.fetchval("select 1 + 0"), 1)
    await connection.close()


async def notify():
    listener, speaker = await connect(), await connect()
    heard, done = [], asyncio.Event()

    def hear(_connection, _process, _channel, payload):
        heard.append(payload)
        if len(heard) == 3:
            done.set()

    await listener.add_listener("asyncpg", hear)
    for number in range(3):
        await speaker.execute("select pg_notify('asyncpg', $1)", str(number))
    await asyncio.wait_for(done.wait(), 5)
    same(heard, ["0", "1", "2"])
    await listener.remove_listener("asyncpg", hear)
    await listener.close()
    await speaker.close()


async def types():
    """A composite type makes asyncpg look it up with a long query of its own."""
    connection = await connect()
    await connection.execute("create type pair as (a int, b text)")
    same(tuple(await connection.fetchval("select (1, 'x')::pair")), (1, "x"))
    same(await connection.fetchval("select $1::int[]", [1, 2]), [1, 2])
    await connection.execute("drop type pair")
    await connection.close()


async def refused(body):
    """`body(connection)` while somebody holds the only permit; then the connection works."""
    holder = await connect(application_name=TIGHT)
    connection = await connect(application_name=TIGHT)
    async with holder.transaction():
        await holder.execute("select 1 + 0")
        for _ in range(3):
            await body(connection)
    same(await connection.fetchval("select $1::int", 1), 1)
    await connection.close()
    await holder.close()


async def refusal_login():
    """Logging in, looking up types, and what a pool does, while the budget is full."""
    holder = await connect(application_name=TIGHT)
    async with holder.transaction():
        await holder.execute("select 1 + 0")
        connection = await connect(application_name=TIGHT)
        same(await connection.fetchval("select 1"), 1)
        await connection.set_type_codec(
            "json", encoder=str, decoder=str, schema="pg_catalog", format="text"
        )
        await connection.reset()
        await connection.close()
    await holder.close()


async def refusal_autocommit():
    async def body(connection):
        told = await fails("40001", connection.fetchval("select $1::int", 1))
        assert isinstance(told, asyncpg.SerializationError) and "reason=" in told.hint

    await refused(body)


async def refusal_block():
    async def body(connection):
        async with connection.transaction():
            await fails("40001", connection.fetchval("select $1::int", 1))
            await fails("25P02", connection.fetchval("select $1::int", 1))

    await refused(body)


async def refusal_pipeline():
    """Many Binds and Executes before one Sync."""

    async def body(connection):
        rows = [(number, "refused") for number in range(50)]
        await fails("40001", connection.executemany("insert into t values ($1, $2)", rows))

    await refused(body)
    connection = await connect()
    same(await connection.fetchval("select count(*) from t where b = 'refused'"), 0)
    await connection.close()


async def refusal_pool():
    holder = await connect(application_name=TIGHT)
    block = holder.transaction()
    await block.start()
    await holder.execute("select 1 + 0")
    pool = await asyncpg.create_pool(
        **WHERE, min_size=1, max_size=1, server_settings={"application_name": TIGHT}
    )
    processes = set()

    async def work():
        async with pool.acquire(timeout=5) as connection:
            processes.add(connection.get_server_pid())
            async with connection.transaction():
                return await connection.fetchval("select $1::int", 1)

    for _ in range(3):
        await fails("40001", work())
    await block.rollback()
    same(await work(), 1)
    same(len(processes), 1)
    await pool.close()
    await holder.close()


async def main():
    for body in (
        login,
        simple,
        prepared,
        commit,
        rollback,
        error,
        copy,
        cursors,
        cancel,
        notify,
        types,
        refusal_login,
        refusal_autocommit,
        refusal_block,
        refusal_pipeline,
        refusal_pool,
    ):
        await check_async(body.__name__, body)


asyncio.run(main())
