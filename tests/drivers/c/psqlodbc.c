// psqlODBC, through the driver manager: statements prepared in the server, transactions by
// SQLEndTran, arrays of parameters, cancel by timeout.
#include <sql.h>
#include <sqlext.h>

#include "checks.c"

typedef struct {
    SQLHENV environment;
    SQLHDBC connection;
} Link;

static Link open_link(const char* name) {
    Link link = {0};
    char place[512];
    SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &link.environment);
    SQLSetEnvAttr(link.environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    SQLAllocHandle(SQL_HANDLE_DBC, link.environment, &link.connection);
    snprintf(place, sizeof place,
             "Driver=psqlodbcw.so;Servername=%s;Port=%s;Database=%s;Username=%s;SSLmode=disable;"
             "UseServerSidePrepare=1;pqopt={application_name='%s'}",
             getenv("DRIVER_HOST"), getenv("DRIVER_PORT"), getenv("DRIVER_DATABASE"),
             getenv("DRIVER_USER"), name);
    SQLDriverConnect(link.connection, NULL, (SQLCHAR*)place, SQL_NTS, NULL, 0, NULL,
                     SQL_DRIVER_NOPROMPT);
    return link;
}

static void close_link(Link link) {
    SQLDisconnect(link.connection);
    SQLFreeHandle(SQL_HANDLE_DBC, link.connection);
    SQLFreeHandle(SQL_HANDLE_ENV, link.environment);
}

static SQLHSTMT statement_of(Link link) {
    SQLHSTMT statement = NULL;
    SQLAllocHandle(SQL_HANDLE_STMT, link.connection, &statement);
    return statement;
}

// The first value, or the SQLSTATE; valid until the next call. Frees the statement.
static const char* outcome(SQLHSTMT statement, SQLRETURN result) {
    static char text[256];
    SQLLEN length = 0;
    text[0] = '\0';
    if (result == SQL_ERROR) {
        SQLINTEGER native = 0;
        SQLSMALLINT words = 0;
        SQLCHAR message[128];
        SQLGetDiagRec(SQL_HANDLE_STMT, statement, 1, (SQLCHAR*)text, &native, message,
                      sizeof message, &words);
    } else {
        SQLSMALLINT columns = 0;
        SQLNumResultCols(statement, &columns);
        if (columns > 0 && SQL_SUCCEEDED(SQLFetch(statement)))
            SQLGetData(statement, 1, SQL_C_CHAR, text, sizeof text, &length);
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return text;
}

static int says(Link link, const char* query, const char* expected) {
    SQLHSTMT statement = statement_of(link);
    const char* got = outcome(statement, SQLExecDirect(statement, (SQLCHAR*)query, SQL_NTS));
    if (strcmp(got, expected) == 0) return 1;
    printf("# got %s instead of %s\n", got, expected);
    return 0;
}

static void by_hand(Link link, int on) {
    SQLUINTEGER mode = on ? SQL_AUTOCOMMIT_OFF : SQL_AUTOCOMMIT_ON;
    SQLSetConnectAttr(link.connection, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)(size_t)mode, 0);
}

static int end(Link link, SQLSMALLINT how) {
    return SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, link.connection, how));
}

static void login(void) {
    Link link = open_link("before");
    demand(says(link, "show application_name", "before"));
    close_link(link);
}

static void simple(void) {
    Link link = open_link("");
    demand(says(link, "select 1 + 0", "1"));
    demand(says(link, "select 'two'", "two"));
    close_link(link);
}

static void prepared(void) {
    Link link = open_link("");
    SQLHSTMT statement = statement_of(link);
    SQLINTEGER number = 0, got = 0;
    SQLLEN length = 0;
    demand(SQL_SUCCEEDED(SQLPrepare(statement, (SQLCHAR*)"select ?::int + 1", SQL_NTS)));
    SQLBindParameter(statement, 1, SQL_PARAM_INPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, &number, 0,
                     NULL);
    for (number = 0; number < 6; number++) {
        by_hand(link, number % 2);
        demand(SQL_SUCCEEDED(SQLExecute(statement)) && SQL_SUCCEEDED(SQLFetch(statement)));
        SQLGetData(statement, 1, SQL_C_SLONG, &got, 0, &length);
        demand(got == number + 1);
        SQLCloseCursor(statement);
        if (number % 2) demand(end(link, SQL_COMMIT));
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    close_link(link);
}

static void commit(void) {
    Link link = open_link("");
    by_hand(link, 1);
    demand(says(link, "insert into t values (1, 'odbc')", ""));
    demand(end(link, SQL_COMMIT));
    demand(says(link, "select count(*) from t where b = 'odbc'", "1"));
    demand(end(link, SQL_COMMIT));
    close_link(link);
}

static void rollback(void) {
    Link link = open_link("");
    by_hand(link, 1);
    demand(says(link, "insert into t values (1, 'away')", ""));
    demand(end(link, SQL_ROLLBACK));
    demand(says(link, "select count(*) from t where b = 'away'", "0"));
    demand(end(link, SQL_ROLLBACK));
    close_link(link);
}

// The driver wraps statements of a block into savepoints, as rollback on error is on.
static void error(void) {
    Link link = open_link("");
    demand(says(link, "select 1/0", "22012"));
    by_hand(link, 1);
    demand(says(link, "select * from nowhere", "42P01"));
    demand(end(link, SQL_ROLLBACK));
    by_hand(link, 0);
    demand(says(link, "select 1 + 0", "1"));
    close_link(link);
}

static void copy(void) {
    enum { kRows = 500 };
    Link link = open_link("");
    SQLHSTMT statement = statement_of(link);
    static SQLINTEGER numbers[kRows];
    for (int row = 0; row < kRows; row++) numbers[row] = row;
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, (SQLPOINTER)(size_t)kRows, 0);
    SQLPrepare(statement, (SQLCHAR*)"insert into t values (?, 'array')", SQL_NTS);
    SQLBindParameter(statement, 1, SQL_PARAM_INPUT, SQL_C_SLONG, SQL_INTEGER, 0, 0, numbers, 0,
                     NULL);
    demand(SQL_SUCCEEDED(SQLExecute(statement)));
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    demand(says(link, "select count(*) from t where b = 'array'", "500"));
    close_link(link);
}

static void cancel(void) {
    Link link = open_link("");
    SQLHSTMT statement = statement_of(link);
    SQLSetStmtAttr(statement, SQL_ATTR_QUERY_TIMEOUT, (SQLPOINTER)1, 0);
    SQLRETURN result = SQLExecDirect(statement, (SQLCHAR*)"select pg_sleep(20)", SQL_NTS);
    demand(strcmp(outcome(statement, result), "57014") == 0);
    demand(says(link, "select 1 + 0", "1"));
    close_link(link);
}

// A login asks for settings, so both are there before the permit is taken.
static void refusal_autocommit(void) {
    Link holder = open_link(tight()), link = open_link(tight());
    by_hand(holder, 1);
    demand(says(holder, "select 1 + 0", "1"));
    for (int round = 0; round < 3; round++) demand(says(link, "select 1 + 0", "40001"));
    demand(end(holder, SQL_COMMIT));
    demand(says(link, "select 1 + 0", "1"));
    close_link(link);
    close_link(holder);
}

static void refusal_block(void) {
    Link holder = open_link(tight()), link = open_link(tight());
    by_hand(holder, 1);
    demand(says(holder, "select 1 + 0", "1"));
    for (int round = 0; round < 3; round++) {
        by_hand(link, 1);
        demand(says(link, "select 1 + 0", "40001"));
        demand(end(link, SQL_ROLLBACK));
        by_hand(link, 0);
    }
    demand(end(holder, SQL_COMMIT));
    demand(says(link, "select 1 + 0", "1"));
    close_link(link);
    close_link(holder);
}

int main(void) {
    CHECK(login);
    CHECK(simple);
    CHECK(prepared);
    CHECK(commit);
    CHECK(rollback);
    CHECK(error);
    CHECK(copy);
    CHECK(cancel);
    CHECK(refusal_autocommit);
    CHECK(refusal_block);
    return 0;
}
