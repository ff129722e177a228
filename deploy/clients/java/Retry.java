import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * Runs a transaction again when it was refused, on pgJDBC with HikariCP or any other pool: after the
 * time that the refusal names, and as long as there is a budget for retries. See ../README.md.
 *
 * <pre>
 * Retry retry = new Retry(0.1, 10, 5);
 * retry.run(() -> {
 *     try (Connection connection = pool.getConnection()) {
 *         connection.setAutoCommit(false);
 *         ...
 *         connection.commit();
 *         return null;
 *     }
 * });
 * </pre>
 *
 * One for each program and database: the budget is what all its threads share.
 */
public final class Retry {
    /** The whole transaction, from the connection to the COMMIT. */
    public interface Transaction<T> {
        T run() throws SQLException;
    }

    /** Nothing of the transaction took effect: refused, a serialization failure, a deadlock. */
    private static final Set<String> SAFE = Set.of("40001", "40P01");
    private static final Pattern HINT = Pattern.compile("(?:^| )retry_after_ms=(\\d+)(?: |$)");

    private final double share;
    private final double burst;
    private final int attempts;
    private double tokens;

    public Retry(double share, double burst, int attempts) {
        this.share = share;
        this.burst = burst;
        this.attempts = attempts;
        this.tokens = burst;
    }

    public <T> T run(Transaction<T> transaction) throws SQLException, InterruptedException {
        earn();
        for (int attempt = 1;; attempt++) {
            try {
                return transaction.run();
            } catch (SQLException error) {
                // 08007 is not among the safe ones: it may have been stored.
                if (!SAFE.contains(error.getSQLState()) || attempt == attempts || !take()) {
                    throw error;
                }
                Thread.sleep(after(error, attempt));
            }
        }
    }

    private synchronized void earn() {
        tokens = Math.min(burst, tokens + share);
    }

    private synchronized boolean take() {
        if (tokens < 1) {
            return false;
        }
        tokens--;
        return true;
    }

    /** Milliseconds to wait: what the refusal says, never less, and up to twice that by chance. */
    static long after(SQLException error, int attempt) {
        // A batch wraps what the server has said.
        Throwable told = error instanceof PSQLException ? error : error.getCause();
        ServerErrorMessage words =
            told instanceof PSQLException ? ((PSQLException) told).getServerErrorMessage() : null;
        String hint = words == null || words.getHint() == null ? "" : words.getHint();
        Matcher named = HINT.matcher(hint);
        long milliseconds = named.find() ? Long.parseLong(named.group(1)) : 10L << attempt;
        return (long) (milliseconds * (1 + ThreadLocalRandom.current().nextDouble()));
    }
}
