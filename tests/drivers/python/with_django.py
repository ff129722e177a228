"""Django: its connection settings, atomic blocks, ORM, bulk_create, persistent connections."""

import threading

import django
from checks import DATABASE, HOST, PORT, TIGHT, USER, check, fails, same
from django.conf import settings


def place(name):
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": HOST,
        "PORT": PORT,
        "NAME": DATABASE,
        "USER": USER,
        "CONN_MAX_AGE": None,
        "OPTIONS": {"application_name": name},
    }


settings.configure(
    DATABASES={"default": place("django"), "tight": place(TIGHT), "holder": place(TIGHT)},
    TIME_ZONE="UTC",
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()

from django.db import connection, connections, models, transaction, utils  # noqa: E402


class Row(models.Model):
    id = models.IntegerField(primary_key=True)

    class Meta:
        app_label = "drivers"
        db_table = "k"


def value(using, text, args=None):
    with connections[using].cursor() as cursor:
        cursor.execute(text, args)
        return cursor.fetchone()[0]


def login():
    same(value("default", "show application_name"), "django")
    same(value("default", "show timezone"), "UTC")


def simple():
    same(value("default", "select 1 + 0"), 1)


def prepared():
    for number in range(5):
        with transaction.atomic():
            same(value("default", "select %s + 1", [number]), number + 1)


def commit():
    with transaction.atomic():
        Row.objects.create(id=1)
        same(Row.objects.select_for_update().get(id=1).id, 1)
    same(Row.objects.filter(id=1).exists(), True)


def rollback():
    with transaction.atomic():
        try:
            with transaction.atomic():
                Row.objects.create(id=2)
                raise KeyError
        except KeyError:
            pass
        Row.objects.create(id=3)
        transaction.set_rollback(True)
    same(list(Row.objects.filter(id__in=[2, 3])), [])


def error():
    fails("23505", lambda: Row.objects.create(id=1) and Row.objects.create(id=1))
    fails("23505", lambda: Row.objects.bulk_create([Row(id=1)]))
    same(value("default", "select 1 + 0"), 1)


def copy():
    Row.objects.bulk_create([Row(id=number) for number in range(1000, 3000)], batch_size=500)
    found = Row.objects.filter(id__gte=1000).values_list("id", flat=True)
    same(sum(1 for _ in found.iterator(chunk_size=100)), 2000)


def cancel():
    timer = threading.Timer(0.3, connection.connection.cancel)
    timer.start()
    fails("57014", lambda: value("default", "select pg_sleep(20)"))
    timer.join()
    same(value("default", "select 1 + 0"), 1)


def refusal_autocommit():
    same(value("tight", "select 1 + 0"), 1)
    process = connections["tight"].connection.info.backend_pid
    with transaction.atomic(using="holder"):
        value("holder", "select 1 + 0")
        for _ in range(3):
            refused = fails("40001", lambda: value("tight", "select 1 + 0"))
            assert isinstance(refused, utils.OperationalError)
    same(value("tight", "select 1 + 0"), 1)
    same(connections["tight"].connection.info.backend_pid, process)


def refusal_block():
    same(value("tight", "select 1 + 0"), 1)
    process = connections["tight"].connection.info.backend_pid

    def work():
        with transaction.atomic(using="tight"):
            return value("tight", "select 1 + 0")

    with transaction.atomic(using="holder"):
        value("holder", "select 1 + 0")
        for _ in range(3):
            fails("40001", work)
    same(work(), 1)
    same(connections["tight"].connection.info.backend_pid, process)


for body in (login, simple, prepared, commit, rollback, error, copy, cancel):
    check(body.__name__, body)
for body in (refusal_autocommit, refusal_block):
    check(body.__name__, body)
connections.close_all()
