// libpq itself: every way to send a statement that it has, pipelines, COPY, cancel, NOTIFY, large
// objects (FunctionCall), and the newest protocol that it and the other side speak.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libpq-fe.h>
#include <libpq/libpq-fs.h>
#include <poll.h>

#include "checks.c"

static PGconn* connect_as(const char* name) {
    const char* keys[] = {"host", "port", "dbname", "user", "application_name", "options", NULL};
    const char* values[] = {getenv("DRIVER_HOST"),
                            getenv("DRIVER_PORT"),
                            getenv("DRIVER_DATABASE"),
                            getenv("DRIVER_USER"),
                            name,
                            "-c work_mem=5MB",
                            NULL};
    return PQconnectdbParams(keys, values, 0);
}

// The first value of the reply, the command's tag, or the SQLSTATE; valid until the next call.
static const char* first(PGresult* result) {
    static char text[256];
    const char* found = "";
    switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK: found = PQntuples(result) ? PQgetvalue(result, 0, 0) : "none"; break;
        case PGRES_COMMAND_OK: found = PQcmdStatus(result); break;
        case PGRES_PIPELINE_SYNC: found = "sync"; break;
        case PGRES_PIPELINE_ABORTED: found = "aborted"; break;
        default: {
            const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            found = state ? state : PQresultErrorMessage(result);
        }
    }
    snprintf(text, sizeof text, "%s", found);
    PQclear(result);
    return text;
}

static int is(PGresult* result, const char* expected) {
    const char* got = first(result);
    if (strcmp(got, expected) == 0) return 1;
    printf("# got %s instead of %s\n", got, expected);
    return 0;
}

static int says(PGconn* connection, const char* text, const char* expected) {
    return is(PQexec(connection, text), expected);
}

static int adds(PGconn* connection, const char* plan, const char* number, const char* expected) {
    const char* values[] = {number};
    return is(PQexecPrepared(connection, plan, 1, values, NULL, NULL, 0), expected);
}

static void login(void) {
    PGconn* connection = connect_as("before");
    demand(PQstatus(connection) == CONNECTION_OK);
    demand(says(connection, "show application_name", "before"));
    demand(says(connection, "show work_mem", "5MB"));
    demand(strcmp(PQparameterStatus(connection, "application_name"), "before") == 0);
    PQreset(connection);
    demand(says(connection, "show application_name", "before"));
    PQfinish(connection);
}

// Looked up by name: libpq before 18 does not have it.
static void protocol(void) {
    union {
        void* found;
        int (*call)(const PGconn*);
    } full = {dlsym(RTLD_DEFAULT, "PQfullProtocolVersion")};
    PGconn* connection = connect_as("");
    demand(PQprotocolVersion(connection) == 3);
    const char* wanted = getenv("PGMAXPROTOCOLVERSION");
    if (wanted) demand(full.found);
    if (wanted && *tight()) demand(full.call(connection) == 30002);
    PQfinish(connection);
}

static void simple(void) {
    PGconn* connection = connect_as("");
    demand(says(connection, "select 1 + 0", "1"));
    demand(says(connection, "select 1; select 2", "2"));
    PGresult* empty = PQexec(connection, "");
    demand(PQresultStatus(empty) == PGRES_EMPTY_QUERY);
    PQclear(empty);
    PQfinish(connection);
}

static void prepared(void) {
    PGconn* connection = connect_as("");
    const char* values[] = {"4"};
    PGresult* made = PQprepare(connection, "plan", "select $1::int + 1", 1, NULL);
    demand(PQresultStatus(made) == PGRES_COMMAND_OK);
    PQclear(made);
    for (int round = 0; round < 5; round++) {
        demand(says(connection, "begin", "BEGIN"));
        demand(adds(connection, "plan", "1", "2"));
        demand(says(connection, "commit", "COMMIT"));
        demand(adds(connection, "plan", "2", "3"));
        demand(is(PQexecParams(connection, "select $1", 1, NULL, values, NULL, NULL, 0), "4"));
    }
    PGresult* described = PQdescribePrepared(connection, "plan");
    demand(PQnparams(described) == 1 && PQftype(described, 0) == 23);
    PQclear(described);
    demand(says(connection, "deallocate plan", "DEALLOCATE"));
    demand(adds(connection, "plan", "2", "26000"));
    PQfinish(connection);
}

static void commit(void) {
    PGconn* connection = connect_as("");
    demand(says(connection, "begin", "BEGIN"));
    demand(PQtransactionStatus(connection) == PQTRANS_INTRANS);
    demand(says(connection, "insert into t values (1, 'libpq')", "INSERT 0 1"));
    demand(says(connection, "commit", "COMMIT"));
    demand(PQtransactionStatus(connection) == PQTRANS_IDLE);
    demand(says(connection, "select count(*) from t where b = 'libpq'", "1"));
    PQfinish(connection);
}

static void rollback(void) {
    PGconn* connection = connect_as("");
    demand(says(connection, "begin; insert into t values (1, 'away')", "INSERT 0 1"));
    demand(says(connection, "rollback", "ROLLBACK"));
    demand(says(connection, "select count(*) from t where b = 'away'", "0"));
    PQfinish(connection);
}

static void error(void) {
    PGconn* connection = connect_as("");
    demand(says(connection, "select 1/0", "22012"));
    demand(says(connection, "begin", "BEGIN"));
    demand(says(connection, "selec", "42601"));
    demand(PQtransactionStatus(connection) == PQTRANS_INERROR);
    demand(says(connection, "select 1 + 0", "25P02"));
    demand(says(connection, "commit", "ROLLBACK"));
    demand(says(connection, "select 1 + 0", "1"));
    PQfinish(connection);
}

static void copy(void) {
    PGconn* connection = connect_as("");
    PQclear(PQexec(connection, "copy t from stdin"));
    for (int row = 0; row < 20000; row++) {
        char line[64];
        int length = snprintf(line, sizeof line, "%d\tcopied\n", row);
        demand(PQputCopyData(connection, line, length) == 1);
    }
    demand(PQputCopyEnd(connection, NULL) == 1);
    demand(is(PQgetResult(connection), "COPY 20000"));
    demand(PQgetResult(connection) == NULL);
    PQclear(PQexec(connection, "copy (select * from t where b = 'copied') to stdout"));
    int rows = 0;
    for (char* line = NULL; PQgetCopyData(connection, &line, 0) > 0; rows++) PQfreemem(line);
    demand(rows == 20000);
    demand(is(PQgetResult(connection), "COPY 20000"));
    demand(PQgetResult(connection) == NULL);
    PQclear(PQexec(connection, "copy t from stdin"));
    demand(PQputCopyEnd(connection, "no more") == 1);
    demand(is(PQgetResult(connection), "57014"));
    demand(PQgetResult(connection) == NULL);
    demand(says(connection, "select 1 + 0", "1"));
    PQfinish(connection);
}

static void single_rows(void) {
    PGconn* connection = connect_as("");
    demand(PQsendQuery(connection, "select generate_series(1, 1000)"));
    demand(PQsetSingleRowMode(connection));
    int rows = 0;
    for (PGresult* row = PQgetResult(connection); row; row = PQgetResult(connection)) {
        rows += PQresultStatus(row) == PGRES_SINGLE_TUPLE;
        PQclear(row);
    }
    demand(rows == 1000);
    PQfinish(connection);
}

static int send(PGconn* connection, const char* text) {
    return PQsendQueryParams(connection, text, 0, NULL, NULL, NULL, NULL, 0);
}

// A result and the NULL behind it.
static int next_is(PGconn* connection, const char* expected) {
    return is(PQgetResult(connection), expected) && PQgetResult(connection) == NULL;
}

static void pipeline(void) {
    PGconn* connection = connect_as("");
    demand(PQenterPipelineMode(connection));
    demand(send(connection, "begin") && send(connection, "insert into t values (5, 'line')"));
    demand(send(connection, "commit") && PQpipelineSync(connection));
    demand(send(connection, "insert into t values (6, 'line')") && send(connection, "select 1/0"));
    demand(send(connection, "select 2") && PQpipelineSync(connection));
    demand(send(connection, "select count(*) from t where b = 'line'"));
    demand(PQpipelineSync(connection));
    demand(next_is(connection, "BEGIN") && next_is(connection, "INSERT 0 1"));
    demand(next_is(connection, "COMMIT") && is(PQgetResult(connection), "sync"));
    demand(next_is(connection, "INSERT 0 1") && next_is(connection, "22012"));
    demand(next_is(connection, "aborted") && is(PQgetResult(connection), "sync"));
    demand(next_is(connection, "1") && is(PQgetResult(connection), "sync"));
    demand(PQexitPipelineMode(connection));
    PQfinish(connection);
}

static void cancel(void) {
    PGconn* connection = connect_as("");
    demand(PQsendQuery(connection, "select pg_sleep(20)"));
    struct pollfd nothing = {.fd = PQsocket(connection), .events = POLLIN};
    demand(poll(&nothing, 1, 300) == 0);
    PGcancel* key = PQgetCancel(connection);
    char words[256];
    demand(PQcancel(key, words, sizeof words));
    PQfreeCancel(key);
    demand(next_is(connection, "57014"));
    demand(says(connection, "select 1 + 0", "1"));
    PQfinish(connection);
}

static void notify(void) {
    PGconn *listener = connect_as(""), *speaker = connect_as("");
    demand(says(listener, "listen libpq", "LISTEN"));
    demand(says(speaker, "notify libpq, 'word'", "NOTIFY"));
    struct pollfd heard = {.fd = PQsocket(listener), .events = POLLIN};
    demand(poll(&heard, 1, 5000) == 1);
    demand(PQconsumeInput(listener));
    PGnotify* note = PQnotifies(listener);
    demand(note && strcmp(note->extra, "word") == 0);
    PQfreemem(note);
    PQfinish(listener);
    PQfinish(speaker);
}

static void large_object(void) {
    PGconn* connection = connect_as("");
    char back[6] = "";
    demand(says(connection, "begin", "BEGIN"));
    Oid object = lo_create(connection, 0);
    demand(object != InvalidOid);
    int handle = lo_open(connection, object, INV_READ | INV_WRITE);
    demand(handle >= 0 && lo_write(connection, handle, "large", 5) == 5);
    demand(lo_lseek(connection, handle, 0, SEEK_SET) == 0);
    demand(lo_read(connection, handle, back, 5) == 5 && strcmp(back, "large") == 0);
    demand(lo_unlink(connection, object) == 1);
    demand(says(connection, "commit", "COMMIT"));
    PQfinish(connection);
}

typedef struct {
    PGconn *holder, *connection;
} Refused;

// The holder has the only permit until the end.
static Refused refused(void) {
    Refused both = {connect_as(tight()), connect_as(tight())};
    says(both.holder, "begin", "BEGIN");
    says(both.holder, "select 1 + 0", "1");
    return both;
}

// The connection is the same as before, and works.
static int works_on(Refused both) {
    const int same_process = PQbackendPID(both.connection);
    const int good = says(both.holder, "commit", "COMMIT") &&
                     says(both.connection, "select 1 + 0", "1") &&
                     PQbackendPID(both.connection) == same_process &&
                     PQstatus(both.connection) == CONNECTION_OK;
    PQfinish(both.connection);
    PQfinish(both.holder);
    return good;
}

static void refusal_autocommit(void) {
    Refused both = refused();
    demand(says(both.connection, "select 1 + 0", "40001"));
    demand(is(PQexecParams(both.connection, "select 1 + 0", 0, NULL, NULL, NULL, NULL, 0), "40001"));
    demand(works_on(both));
}

static void refusal_block(void) {
    Refused both = refused();
    demand(says(both.connection, "begin", "BEGIN") && says(both.connection, "select 1 + 0", "40001"));
    demand(PQtransactionStatus(both.connection) == PQTRANS_INERROR);
    demand(says(both.connection, "select 1 + 0", "25P02") && says(both.connection, "commit", "ROLLBACK"));
    demand(works_on(both));
}

static void refusal_pipeline(void) {
    Refused both = refused();
    PGconn* connection = both.connection;
    demand(PQenterPipelineMode(connection));
    demand(send(connection, "select 1 + 0") && send(connection, "select 2") && PQpipelineSync(connection));
    demand(next_is(connection, "40001") && next_is(connection, "aborted"));
    demand(is(PQgetResult(connection), "sync"));
    demand(PQexitPipelineMode(connection));
    demand(works_on(both));
}

int main(void) {
    CHECK(login);
    CHECK(protocol);
    CHECK(simple);
    CHECK(prepared);
    CHECK(commit);
    CHECK(rollback);
    CHECK(error);
    CHECK(copy);
    CHECK(single_rows);
    CHECK(pipeline);
    CHECK(cancel);
    CHECK(notify);
    CHECK(large_object);
    CHECK(refusal_autocommit);
    CHECK(refusal_block);
    CHECK(refusal_pipeline);
    return 0;
}
