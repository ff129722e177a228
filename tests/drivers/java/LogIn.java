import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

/** pgJDBC tries the logins on stdin, one a line, fields separated by tabs; prints how each came out. */
public final class LogIn {
    public static void main(String[] args) throws Exception {
        String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        for (String line : text.split("\n")) {
            String[] fields = line.split("\t", -1);
            System.out.println(outcome(fields[0], fields[1], fields[2], fields[3]));
        }
    }

    private static String outcome(String port, String database, String user, String password) {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("sslmode", "disable");
        String url = "jdbc:postgresql://127.0.0.1:" + port + "/" + database;
        try (Connection connection = DriverManager.getConnection(url, properties);
                ResultSet row = connection.createStatement().executeQuery("select session_user")) {
            row.next();
            return row.getString(1).equals(user) ? "accepted" : "logged in as " + row.getString(1);
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }
}
