#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The budgets file as plain values. Nothing here knows YAML: yaml.h fills these structs, validate.h
/// judges them, everyone else reads them.
///
/// The initialisers below are the defaults of the file, and the only place where they are written:
/// the documentation and the effective configuration are printed from them. What a key means, its
/// range and whether it is built stands beside its name in the tables of keys.h.
namespace pgb::config {

using Duration = std::chrono::nanoseconds;

// Enumerators are in the order of their words, which are the words of the file.
enum class TlsMode : std::uint8_t { disable, allow, require };
inline constexpr std::array<std::string_view, 3> kTlsModeWords{"disable", "allow", "require"};

enum class AuthMethod : std::uint8_t { trust, scram_sha_256, passthrough, peer, cert };
inline constexpr std::array<std::string_view, 5> kAuthMethodWords{"trust", "scram-sha-256",
                                                                  "passthrough", "peer", "cert"};
/// Whether it tells a name from outside, which a user map may lead to a user.
constexpr bool uses_user_map(AuthMethod method) {
    return method == AuthMethod::peer || method == AuthMethod::cert;
}

enum class Mode : std::uint8_t { enforce, shadow, off };
inline constexpr std::array<std::string_view, 3> kModeWords{"enforce", "shadow", "off"};

enum class Pooling : std::uint8_t { transaction, session };
inline constexpr std::array<std::string_view, 2> kPoolingWords{"transaction", "session"};

enum class Reset : std::uint8_t { changed, always };
inline constexpr std::array<std::string_view, 2> kResetWords{"changed", "always"};

enum class LogLevel : std::uint8_t { debug, info, warn, error };
inline constexpr std::array<std::string_view, 4> kLogLevelWords{"debug", "info", "warn", "error"};

enum class LogFormat : std::uint8_t { logfmt, json };
inline constexpr std::array<std::string_view, 2> kLogFormatWords{"logfmt", "json"};

enum class OnExcess : std::uint8_t { warn, refuse };
inline constexpr std::array<std::string_view, 2> kOnExcessWords{"warn", "refuse"};

/// `host:port` of the file; IPv6 hosts are kept without their brackets.
struct Address {
    std::string host;
    std::uint16_t port = 0;
    bool operator==(const Address&) const = default;
};

struct Tls {
    TlsMode mode = TlsMode::disable;
    std::optional<std::string> cert;
    std::optional<std::string> key;
    std::optional<std::string> client_ca;
    std::optional<std::string> min_version;
    bool operator==(const Tls&) const = default;
};

struct AuthConfig {
    AuthMethod method = AuthMethod::trust;
    std::optional<std::string> users_file;
    std::optional<std::string> user_map;
    Duration cache_lifetime = std::chrono::minutes(5);
    bool allow_insecure = false;
    Duration timeout = std::chrono::seconds(10);
    bool operator==(const AuthConfig&) const = default;
};

/// One door. After load() exactly one of `address` and `unix_socket_dir` is set.
struct Listener {
    std::string name;
    std::optional<std::string> address;
    std::optional<std::string> unix_socket_dir;
    std::uint16_t port = 6432;  // 0, TCP only: the kernel chooses
    std::uint32_t unix_socket_mode = 0770;
    Tls tls;
    AuthConfig auth;  // already merged: the file's `auth` where the listener says nothing
    bool operator==(const Listener&) const = default;
};

struct LockSampler {
    std::optional<std::string> conninfo;
    Duration interval = std::chrono::seconds(1);
    bool operator==(const LockSampler&) const = default;
};

struct DatabaseEntry {
    std::string name;      // "*" stands for any name without an entry of its own
    std::string conninfo;  // may hold a password: never log it; print.h masks it
    std::uint64_t pool_size = 24;
    Duration pool_wait = std::chrono::milliseconds(500);
    std::uint64_t min_idle = 0;
    Duration idle_timeout = std::chrono::minutes(10);
    Duration max_lifetime = std::chrono::hours(1);
    Duration connect_timeout = std::chrono::seconds(5);
    Duration reset_timeout = std::chrono::seconds(5);
    Duration cancel_timeout = std::chrono::seconds(5);
    LockSampler lock_sampler;
    std::uint64_t max_connecting = 2;
    bool operator==(const DatabaseEntry&) const = default;
};

/// Conditions of a workload; all that are given must hold. Globs know `*`, `?` and `[..]`.
struct Match {
    std::optional<std::string> database;
    std::optional<std::string> user;
    std::optional<std::string> application_name;
    std::optional<std::string> listener;  // the exact name of a listener
    std::optional<std::string> client;
    std::vector<std::pair<std::string, std::string>> tag;
    std::optional<std::string> query;
    bool operator==(const Match&) const = default;
};

struct Workload {
    std::string name;
    Match match;
    Mode mode = Mode::enforce;
    std::uint64_t concurrency = 0;  // B; has no default, at least 1 after load()
    std::uint64_t queue = 0;        // Q
    Duration queue_wait{0};
    Duration deadline{0};
    std::string sqlstate = "40001";
    Duration retry_after_cap = std::chrono::seconds(5);
    bool pace_retries = false;
    Pooling pooling = Pooling::transaction;
    Reset reset = Reset::changed;
    std::uint64_t max_pinned = 0;  // load() fills it in from the pools where the file is silent
    Duration holder_idle_timeout = std::chrono::seconds(60);
    Duration transaction_timeout{0};
    Duration cancel_after_leave = std::chrono::seconds(1);
    Duration orphan_hold = std::chrono::seconds(60);
    bool operator==(const Workload&) const = default;
};

/// The lane's name where workloads are told; none may have it.
inline constexpr const char* kHousekeepingName = "housekeeping";

struct Housekeeping {
    std::uint64_t concurrency = 1;
    Duration wait = std::chrono::seconds(10);
    Duration statement_timeout = std::chrono::seconds(2);
    bool operator==(const Housekeeping&) const = default;
};

struct Limits {
    std::uint64_t max_clients = 10000;
    std::uint64_t max_startup = 256;
    std::uint64_t max_message_buffer = 1 << 20;
    std::uint64_t high_watermark = 256 << 10;
    std::uint64_t max_prepared_statements = 1000;
    std::uint64_t max_backend_statements = 500;
    std::uint64_t max_statement_memory = 64 << 20;
    Duration client_idle_timeout{0};
    Duration tcp_keepalive = std::chrono::seconds(60);
    Duration tcp_user_timeout = std::chrono::seconds(30);
    bool operator==(const Limits&) const = default;
};

struct AdminTls {
    std::optional<std::string> cert;
    std::optional<std::string> key;
    std::optional<std::string> client_ca;
    bool operator==(const AdminTls&) const = default;
};

struct Admin {
    std::optional<Address> http = Address{"127.0.0.1", 9432};
    std::optional<Address> probes;
    std::optional<std::string> token_file;
    AdminTls tls;
    std::string console_database = "pgbulkhead";
    std::vector<std::string> console_users = {"admin"};
    bool operator==(const Admin&) const = default;
};

struct Drain {
    Duration delay{0};
    Duration timeout = std::chrono::seconds(25);
    bool operator==(const Drain&) const = default;
};

struct LogConfig {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::logfmt;
    bool operator==(const LogConfig&) const = default;
};

struct Fleet {
    std::uint64_t instances = 1;
    std::uint64_t surge = 0;
    std::uint64_t other_connections = 0;
    std::optional<std::uint64_t> database_connections;
    OnExcess on_excess = OnExcess::warn;
    bool operator==(const Fleet&) const = default;
};

struct Config {
    std::vector<Listener> listen;
    std::vector<DatabaseEntry> databases;  // in file order
    AuthConfig auth;
    std::vector<Workload> workloads;  // in file order; the last is `default`
    Housekeeping housekeeping;
    Limits limits;
    Admin admin;
    Drain drain;
    LogConfig log;
    Fleet fleet;
    bool operator==(const Config&) const = default;
};

}  // namespace pgb::config
