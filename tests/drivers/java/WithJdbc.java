import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import org.postgresql.PGConnection;

/**
 * pgJDBC: statements prepared by name after the fifth use, batches, COPY, cursors; its modes of
 * sending queries; HikariCP. Everything is done in the default mode, the rest in short.
 */
public class WithJdbc {
    /** The application name of a workload with one permit and a short wait; empty without a proxy. */
    static final String TIGHT = variable("DRIVER_TIGHT");

    interface Body {
        void run() throws Exception;
    }

    static String variable(String name) {
        String value = System.getenv(name);
        return value == null ? "" : value;
    }

    static String place(String name, String options) {
        return "jdbc:postgresql://" + variable("DRIVER_HOST") + ":" + variable("DRIVER_PORT") + "/"
            + variable("DRIVER_DATABASE") + "?user=" + variable("DRIVER_USER")
            + "&sslmode=" + variable("DRIVER_SSLMODE") + "&ApplicationName=" + name + options;
    }

    /** With this option the name is in the first packet; else the driver says it by SET. */
    static final String AT_ONCE = "&assumeMinServerVersion=9.0";

    static Connection connect(String name, String options) throws SQLException {
        return DriverManager.getConnection(place(name, options));
    }

    static Connection connect() throws SQLException {
        return connect("jdbc", "");
    }

    static void check(String name, Body body) {
        if (name.startsWith("refusal") && TIGHT.isEmpty()) {
            System.out.println("skip " + name);
            return;
        }
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError error) {
            String words = (error + " " + error.getStackTrace()[0]).replaceAll("\\s+", " ");
            System.out.println("not ok " + name + ": " + words);
        }
    }

    static void same(Object got, Object expected) {
        if (!expected.equals(got)) {
            throw new AssertionError(got + " is not " + expected);
        }
    }

    static void fails(String code, Body body) throws Exception {
        try {
            body.run();
        } catch (SQLException error) {
            same(error.getSQLState(), code);
            return;
        }
        throw new AssertionError("no error where " + code + " was due");
    }

    static String one(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery(text)) {
            rows.next();
            return rows.getString(1);
        }
    }

    static void execute(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    static void login() throws Exception {
        try (Connection connection = connect("before", "&options=-c%20work_mem=5MB")) {
            same(one(connection, "show application_name"), "before");
            same(one(connection, "show work_mem"), "5MB");
            same(connection.isValid(5), true);
        }
    }

    static void simple() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            same(statement.execute("select 1; select 2"), true);
            same(statement.getMoreResults(), true);
            statement.getResultSet().next();
            same(statement.getResultSet().getInt(1), 2);
        }
    }

    /** Beyond the fifth use the statement has a name in the server. */
    static void prepared(String options) throws Exception {
        try (Connection connection = connect("jdbc", options);
             PreparedStatement plan = connection.prepareStatement("select ?::int + 1")) {
            for (int number = 0; number < 12; number++) {
                connection.setAutoCommit(number % 2 == 0);
                plan.setInt(1, number);
                try (ResultSet rows = plan.executeQuery()) {
                    rows.next();
                    same(rows.getInt(1), number + 1);
                }
                if (!connection.getAutoCommit()) {
                    connection.commit();
                }
            }
        }
    }

    static void commit() throws Exception {
        try (Connection connection = connect()) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            execute(connection, "insert into t values (1, 'java')");
            connection.commit();
            connection.setAutoCommit(true);
            same(one(connection, "select count(*) from t where b = 'java'"), "1");
        }
    }

    static void rollback() throws Exception {
        try (Connection connection = connect()) {
            connection.setAutoCommit(false);
            Savepoint point = connection.setSavepoint();
            execute(connection, "insert into t values (1, 'away')");
            connection.rollback(point);
            execute(connection, "insert into t values (2, 'away')");
            connection.rollback();
            same(one(connection, "select count(*) from t where b = 'away'"), "0");
            connection.rollback();
        }
    }

    static void error(String options) throws Exception {
        try (Connection connection = connect("jdbc", options)) {
            fails("22012", () -> one(connection, "select 1/0"));
            connection.setAutoCommit(false);
            fails("42P01", () -> one(connection, "select * from nowhere"));
            fails("25P02", () -> one(connection, "select 1 + 0"));
            connection.rollback();
            same(one(connection, "select 1 + 0"), "1");
            connection.rollback();
        }
    }

    static void copy() throws Exception {
        try (Connection connection = connect()) {
            StringBuilder lines = new StringBuilder();
            for (int number = 0; number < 2000; number++) {
                lines.append(number).append("\tcopied\n");
            }
            PGConnection own = connection.unwrap(PGConnection.class);
            same(own.getCopyAPI().copyIn("copy t from stdin", new StringReader(lines.toString())), 2000L);
            StringWriter out = new StringWriter();
            own.getCopyAPI().copyOut("copy (select * from t where b = 'copied' order by a) to stdout", out);
            same(out.toString(), lines.toString());
        }
    }

    static void batch(String options) throws Exception {
        try (Connection connection = connect("jdbc", options);
             PreparedStatement plan = connection.prepareStatement("insert into t values (?, ?)")) {
            connection.setAutoCommit(false);
            for (int number = 0; number < 1000; number++) {
                plan.setInt(1, number);
                plan.setString(2, "batch" + options);
                plan.addBatch();
            }
            same(plan.executeBatch().length, 1000);
            connection.commit();
            same(one(connection, "select count(*) from t where b = 'batch" + options + "'"), "1000");
            connection.commit();
        }
    }

    /** With a fetch size the driver reads a portal in parts, inside a transaction. */
    static void cursor() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.setFetchSize(50);
            int count = 0;
            try (ResultSet rows = statement.executeQuery("select generate_series(1, 1000)")) {
                while (rows.next()) {
                    count++;
                }
            }
            same(count, 1000);
            connection.commit();
        }
    }

    static void cancel() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            fails("57014", () -> statement.execute("select pg_sleep(20)"));
            same(one(connection, "select 1 + 0"), "1");
        }
    }

    static void notifications() throws Exception {
        try (Connection listener = connect(); Connection speaker = connect()) {
            execute(listener, "listen jdbc");
            execute(speaker, "notify jdbc, 'word'");
            same(listener.unwrap(PGConnection.class).getNotifications(5000)[0].getParameter(), "word");
        }
    }

    interface Work {
        void on(Connection connection) throws Exception;
    }

    /** The work, three times, while somebody holds the only permit; then the connection works. */
    static void refused(String options, Work work) throws Exception {
        try (Connection connection = connect(TIGHT, options);
             Connection holder = connect(TIGHT, AT_ONCE)) {
            holder.setAutoCommit(false);
            same(one(holder, "select 1 + 0"), "1");
            for (int round = 0; round < 3; round++) {
                work.on(connection);
            }
            holder.rollback();
            same(one(connection, "select count(*) from t where b = 'refused'"), "0");
        }
    }

    /** A login, and what pools ask, while the budget is full. */
    static void refusalLogin() throws Exception {
        try (Connection holder = connect(TIGHT, AT_ONCE)) {
            holder.setAutoCommit(false);
            same(one(holder, "select 1 + 0"), "1");
            for (String options : new String[] {"", AT_ONCE, "&preferQueryMode=simple"}) {
                try (Connection connection = connect(TIGHT, options)) {
                    same(connection.isValid(5), true);
                    same(one(connection, "SELECT 1"), "1");
                    connection.setReadOnly(true);
                    connection.getTransactionIsolation();
                }
            }
            holder.rollback();
        }
    }

    static void refusalAutocommit(Connection connection) throws Exception {
        fails("40001", () -> one(connection, "select 1 + 0"));
    }

    static void refusalBlock(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        fails("40001", () -> execute(connection, "insert into t values (77, 'refused')"));
        fails("25P02", () -> one(connection, "select 1 + 0"));
        connection.rollback();
        connection.setAutoCommit(true);
    }

    /** A batch is sent ahead as a pipeline, in one block or with a Sync for each of its statements. */
    static void refusalPipeline(Connection connection) throws Exception {
        for (boolean each : new boolean[] {true, false}) {
            connection.setAutoCommit(each);
            try (PreparedStatement plan = connection.prepareStatement("insert into t values (?, 'refused')")) {
                for (int number = 0; number < 50; number++) {
                    plan.setInt(1, number);
                    plan.addBatch();
                }
                fails("40001", plan::executeBatch);
            }
            if (!each) {
                connection.rollback();
            }
        }
        connection.setAutoCommit(true);
    }

    static void refusal(String options) throws Exception {
        refused(options, WithJdbc::refusalAutocommit);
        refused(options, WithJdbc::refusalBlock);
        refused(options, WithJdbc::refusalPipeline);
    }

    static void refusalHikari() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(place(TIGHT, AT_ONCE));
        config.setMaximumPoolSize(1);
        config.setConnectionTimeout(5000);
        try (HikariDataSource pool = new HikariDataSource(config)) {
            int process = 0;
            try (Connection connection = pool.getConnection()) {
                process = connection.unwrap(PGConnection.class).getBackendPID();
            }
            try (Connection holder = connect(TIGHT, AT_ONCE)) {
                holder.setAutoCommit(false);
                same(one(holder, "select 1 + 0"), "1");
                for (int round = 0; round < 3; round++) {
                    try (Connection connection = pool.getConnection()) {
                        connection.setAutoCommit(false);
                        fails("40001", () -> one(connection, "select 1 + 0"));
                    }
                }
                holder.rollback();
            }
            try (Connection connection = pool.getConnection()) {
                same(one(connection, "select 1 + 0"), "1");
                same(connection.unwrap(PGConnection.class).getBackendPID(), process);
            }
        }
    }

    interface Recipe {
        void on(Retry.Transaction<String> work, AtomicInteger calls) throws Exception;
    }

    /** A transaction on a HikariCP of one that counts its calls; the permit is free with the third. */
    static void recipe(Recipe body) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(place(TIGHT, AT_ONCE));
        config.setMaximumPoolSize(1);
        try (HikariDataSource pool = new HikariDataSource(config); Connection holder = connect(TIGHT, AT_ONCE)) {
            holder.setAutoCommit(false);
            same(one(holder, "select 1 + 0"), "1");
            AtomicInteger calls = new AtomicInteger();
            body.on(() -> {
                if (calls.incrementAndGet() == 3) {
                    holder.rollback();
                }
                try (Connection connection = pool.getConnection()) {
                    connection.setAutoCommit(false);
                    String value = one(connection, "select 7");
                    connection.commit();
                    return value;
                }
            }, calls);
        }
    }

    static void recipeSucceeds(Retry.Transaction<String> work, AtomicInteger calls) throws Exception {
        same(new Retry(0.1, 10, 5).run(work), "7");
        same(calls.get(), 3);
    }

    static void recipeGivesUp(Retry.Transaction<String> work, AtomicInteger calls) throws Exception {
        Retry retry = new Retry(0.1, 1, 5);
        fails("40001", () -> retry.run(work));
        same(calls.getAndSet(0), 2);
        fails("40001", () -> retry.run(work));
        same(calls.get(), 1);
    }

    static void recipeUnknown() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        try (Connection connection = connect()) {
            fails("08007", () -> new Retry(0.1, 10, 5).run(() -> {
                calls.incrementAndGet();
                return one(connection, "select pg_terminate_backend(pg_backend_pid()), pg_sleep(30)");
            }));
        }
        same(calls.get(), 1);
    }

    public static void main(String[] words) {
        check("login", WithJdbc::login);
        check("simple", WithJdbc::simple);
        check("prepared", () -> prepared(""));
        check("prepared_at_once", () -> prepared("&prepareThreshold=-1"));
        check("prepared_never", () -> prepared("&prepareThreshold=0"));
        check("prepared_in_text", () -> prepared("&preferQueryMode=simple"));
        check("extended_for_prepared", () -> prepared("&preferQueryMode=extendedForPrepared"));
        check("commit", WithJdbc::commit);
        check("rollback", WithJdbc::rollback);
        check("error", () -> error(""));
        check("autosave", () -> {
            try (Connection connection = connect("jdbc", "&autosave=always")) {
                connection.setAutoCommit(false);
                fails("22012", () -> one(connection, "select 1/0"));
                same(one(connection, "select 1 + 0"), "1");
                connection.commit();
            }
        });
        check("copy", WithJdbc::copy);
        check("batch", () -> batch(""));
        check("batch_rewritten", () -> batch("&reWriteBatchedInserts=true"));
        check("cursor", WithJdbc::cursor);
        check("cancel", WithJdbc::cancel);
        check("notify", WithJdbc::notifications);
        check("refusal_login", WithJdbc::refusalLogin);
        check("refusal_autocommit", () -> refused(AT_ONCE, WithJdbc::refusalAutocommit));
        check("refusal_block", () -> refused(AT_ONCE, WithJdbc::refusalBlock));
        check("refusal_pipeline", () -> refused(AT_ONCE, WithJdbc::refusalPipeline));
        check("refusal_in_text", () -> refusal(AT_ONCE + "&preferQueryMode=simple"));
        check("refusal_extended_for_prepared",
            () -> refusal(AT_ONCE + "&preferQueryMode=extendedForPrepared"));
        check("refusal_name_by_set", () -> refusal(""));
        check("refusal_recipe_succeeds", () -> recipe(WithJdbc::recipeSucceeds));
        check("refusal_recipe_gives_up", () -> recipe(WithJdbc::recipeGivesUp));
        check("refusal_recipe_unknown", WithJdbc::recipeUnknown);
        check("refusal_hikari", WithJdbc::refusalHikari);
    }
}
