"""SQLAlchemy on psycopg2 and on asyncpg: engine, pool with pre-ping, ORM, bulk insert."""

import asyncio
import threading

import sqlalchemy as sa
from checks import DATABASE, HOST, PORT, TIGHT, USER, check, check_async, fails, same, sqlstate
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session, declarative_base

PLACE = f"{USER}@{HOST}:{PORT}/{DATABASE}"
Base = declarative_base()


class Row(Base):
    __tablename__ = "k"
    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)


def engine(name="", **options):
    return sa.create_engine(
        f"postgresql+psycopg2://{PLACE}", connect_args={"application_name": name}, **options
    )


def count(connection):
    return connection.scalar(sa.text("select count(*) from k"))


def login():
    with engine("before").connect() as connection:
        same(connection.scalar(sa.text("show application_name")), "before")
        same(sa.inspect(connection).has_table("t"), True)


def simple():
    with engine().connect() as connection:
        same(tuple(connection.execute(sa.text("select 1, 'two'")).one()), (1, "two"))


def prepared():
    places = engine()
    for number in range(5):
        with places.begin() as connection:
            same(connection.scalar(sa.text("select :n + 1"), {"n": number}), number + 1)


def commit():
    places = engine()
    with Session(places) as session:
        before = session.scalar(sa.select(sa.func.count()).select_from(Row))
        session.add_all([Row(id=1), Row(id=2)])
        session.commit()
        same(session.scalar(sa.select(sa.func.count()).select_from(Row)), before + 2)


def rollback():
    places = engine()
    with Session(places) as session:
        with session.begin_nested() as inner:
            session.add(Row(id=3))
            session.flush()
            inner.rollback()
        session.rollback()
        same(session.get(Row, 3), None)


def error():
    places = engine(pool_size=1, max_overflow=0, pool_pre_ping=True)

    def twice():
        with places.begin() as connection:
            connection.execute(sa.text("insert into k values (1)"))

    fails("23505", twice)
    with places.connect() as connection:
        same(connection.scalar(sa.text("select 1 + 0")), 1)


def copy():
    places = engine(executemany_mode="values_plus_batch")
    with places.begin() as connection:
        connection.execute(Row.__table__.insert(), [{"id": n} for n in range(1000, 3000)])
    with places.begin() as connection:
        stream = connection.execution_options(stream_results=True)
        rows = stream.execute(sa.text("select id from k where id >= 1000"))
        same(len(list(rows)), 2000)


def cancel():
    places = engine(pool_size=1, max_overflow=0)
    with places.connect() as connection:
        timer = threading.Timer(0.3, connection.connection.dbapi_connection.cancel)
        timer.start()
        fails("57014", lambda: connection.execute(sa.text("select pg_sleep(20)")))
        timer.join()
    with places.connect() as connection:
        same(connection.scalar(sa.text("select 1 + 0")), 1)


def refusal_block():
    holder = engine(TIGHT).connect()
    holder.execute(sa.text("select 1 + 0"))
    places = engine(TIGHT, pool_size=1, max_overflow=0)
    processes = set()

    def work():
        with places.begin() as connection:
            processes.add(connection.connection.dbapi_connection.info.backend_pid)
            return connection.scalar(sa.text("select 1 + 0"))

    # What the first connection of an engine asks for is not refused.
    for _ in range(3):
        fails("40001", work)
    holder.close()
    same(work(), 1)
    same(len(processes), 1)


def refusal_autocommit():
    places = engine(TIGHT, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")

    def work():
        with places.connect() as connection:
            return connection.scalar(sa.text("select 1 + 0"))

    same(work(), 1)
    holder = engine(TIGHT).connect()
    holder.execute(sa.text("select 1 + 0"))
    for _ in range(3):
        refused = fails("40001", work)
        assert isinstance(refused, sa.exc.OperationalError) and not refused.connection_invalidated
    holder.close()
    same(work(), 1)


def asynchronous(name=""):
    return create_async_engine(
        f"postgresql+asyncpg://{PLACE}?ssl=disable",
        pool_size=1,
        max_overflow=0,
        connect_args={"server_settings": {"application_name": name}},
    )


async def asyncpg_engine():
    places = asynchronous()
    for number in range(6):
        async with places.begin() as connection:
            same(await connection.scalar(sa.text("select 1 + :n"), {"n": number}), number + 1)
            await connection.execute(Row.__table__.insert(), [{"id": 100 + number}])
    async with places.connect() as connection:
        same(
            await connection.scalar(sa.text("select count(*) from k where id between 100 and 105")),
            6,
        )
    await places.dispose()


async def refusal_asyncpg():
    """The first connection starts up while the budget is full."""
    places, holders = asynchronous(TIGHT), asynchronous(TIGHT)

    async def work():
        async with places.begin() as connection:
            return await connection.scalar(sa.text("select 1 + 0"))

    async with holders.connect() as holder:
        await holder.execute(sa.text("select 1 + 0"))
        for _ in range(2):
            try:
                await work()
                raise AssertionError("not refused")
            except sa.exc.DBAPIError as refused:
                same(sqlstate(refused), "40001")
    same(await work(), 1)
    await places.dispose()
    await holders.dispose()


async def main():
    await check_async("asyncpg_engine", asyncpg_engine)
    await check_async("refusal_asyncpg", refusal_asyncpg)


for body in (login, simple, prepared, commit, rollback, error, copy, cancel):
    check(body.__name__, body)
for body in (refusal_autocommit, refusal_block):
    check(body.__name__, body)
asyncio.run(main())
