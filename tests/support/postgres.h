#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pgb {

/// A PostgreSQL of one's own for a test: temporary data directory, free port, gone when the object
/// or the test program dies. Runs as `postgres` when the test runs as root, as PostgreSQL demands.
///
/// It knows the superuser `postgres` (trusted everywhere), and `alice` with the password `secret`,
/// who needs SCRAM over TCP. TLS is on with a certificate of its own for `localhost`, also at
/// directory() + "/server.crt".
class TestPostgres {
public:
    struct Settings {
        int max_connections = 30;
        /// More lines for postgresql.conf.
        std::vector<std::string> lines;
    };

    explicit TestPostgres(const Settings& settings);
    TestPostgres() : TestPostgres(Settings{}) {}
    ~TestPostgres();
    TestPostgres(const TestPostgres&) = delete;
    TestPostgres& operator=(const TestPostgres&) = delete;

    /// One server for all tests of a program that change nothing for the others.
    static TestPostgres& shared();

    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Of the Unix socket.
    [[nodiscard]] const std::string& directory() const { return directory_; }
    /// Connection strings without user and database.
    [[nodiscard]] std::string tcp() const;
    [[nodiscard]] std::string unix_socket() const;

    /// Runs one statement as `postgres` in a connection of its own; the first value of the result.
    [[nodiscard]] std::string query(const std::string& sql) const;
    void run(const std::string& sql) const { (void)query(sql); }
    /// Runs the statement again and again until it answers `expected`; false after `seconds`.
    [[nodiscard]] bool wait_for(const std::string& sql, const std::string& expected,
                                int seconds = 10) const;

    /// The postmaster's, for tests that stop and kill.
    [[nodiscard]] pid_t pid() const { return server_; }
    /// Stops it as `pg_ctl -m immediate` does and waits for its end; start() makes it live again.
    void stop();
    void start();

private:
    void create(const Settings& settings) const;
    [[nodiscard]] std::string data() const { return directory_ + "/data"; }

    std::string directory_;
    std::uint16_t port_ = 0;
    pid_t server_ = -1;
};

}  // namespace pgb
