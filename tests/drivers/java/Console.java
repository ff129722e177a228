import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** pgJDBC at the console: port, user and password are arguments; prints the limit that it has set. */
public final class Console {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", args[1]);
        properties.setProperty("password", args[2]);
        properties.setProperty("sslmode", "disable");
        String url = "jdbc:postgresql://127.0.0.1:" + args[0] + "/pgbulkhead";
        try (Connection connection = DriverManager.getConnection(url, properties);
                Statement statement = connection.createStatement()) {
            if (!connection.isValid(10)) throw new IllegalStateException("not valid");
            statement.execute("SET WORKLOAD default concurrency = 7");
            connection.setAutoCommit(false);
            long limit = 0;
            // Often enough that pgJDBC prepares it on the server and asks for binary values.
            for (int i = 0; i < 8; i++) {
                try (PreparedStatement show = connection.prepareStatement("SHOW WORKLOADS");
                        ResultSet row = show.executeQuery()) {
                    row.next();
                    limit = row.getLong("limit");
                }
            }
            connection.commit();
            try {
                statement.execute("SHWO WORKLOADS");
            } catch (SQLException e) {
                System.out.println(e.getSQLState() + " " + limit);
            }
            connection.rollback();
        }
    }
}
