import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

/** pgJDBC tries the logins on stdin, one a line, fields separated by tabs; prints how each came out. */
public final class LogIn {
    private static final String[] FIELDS = {
        "host", "port", "database", "user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey"
    };

    public static void main(String[] args) throws Exception {
        String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        for (String line : text.split("\n")) {
            System.out.println(outcome(line.split("\t", -1)));
        }
    }

    private static String outcome(String[] fields) {
        Properties properties = new Properties();
        for (int i = 3; i < FIELDS.length; i++) {
            if (!fields[i].isEmpty() || FIELDS[i].equals("password")) {
                properties.setProperty(FIELDS[i], fields[i]);
            }
        }
        String user = fields[3];
        String url = "jdbc:postgresql://" + fields[0] + ":" + fields[1] + "/" + fields[2];
        try (Connection connection = DriverManager.getConnection(url, properties);
                ResultSet row = connection.createStatement().executeQuery("select session_user")) {
            row.next();
            return row.getString(1).equals(user) ? "accepted" : "logged in as " + row.getString(1);
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }
}
