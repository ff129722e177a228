#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/admin/console/table.h"
#include "proxy/admin/holders.h"
#include "proxy/base/instant.h"
#include "proxy/metrics/snapshot.h"

namespace pgb {

// What the console's views show, as plain values of one moment, and their rows in the order of the
// columns (columns_of()). Names that clients gave are told as shown() tells them.

/// One connection of a client.
struct ClientView {
    std::uint64_t id = 0;
    std::string_view state;  ///< `login`, `idle`, `queued` and so on
    std::string client;      ///< Address and port, or `unix`.
    std::string user;
    std::string database;
    std::string application_name;
    std::string workload;   ///< Of its latest transaction.
    std::uint32_t pid = 0;  ///< Of the backend it has; 0: none.
    Duration age{0};        ///< Since it connected.
    std::string listener;
};

/// A client that waits.
struct WaiterView {
    ClientView client;
    std::string_view waits_for;  ///< `permit`, `backend`, `its time` (parked)
    Duration waited{0};
};

struct PinView {
    ClientView client;
    std::string_view kind;  ///< `state`, `session` (pooling)
};

/// One connection to PostgreSQL.
struct BackendView {
    std::string entry;  ///< of `databases`
    std::uint32_t pid = 0;
    std::string_view state;
    std::string user;
    std::string database;
    std::uint64_t client = 0;  ///< Who uses it; 0: nobody.
};

/// What a snapshot does not have of a workload or an entry of `databases`.
struct ConsoleExtras {
    std::vector<Duration> queue_waits;     ///< By workload.
    std::vector<std::string_view> pauses;  ///< By entry: `active`, `pausing`, `paused`.
};

struct ConfigView {
    std::string key;
    std::string value;
    std::string in_the_file;  ///< Empty: the same, as far as is known.
    std::string_view change;  ///< `live`, `restart`
};

[[nodiscard]] std::vector<Row> workload_rows(const Snapshot& snapshot, const ConsoleExtras& extras);
[[nodiscard]] std::vector<Row> pool_rows(const Snapshot& snapshot, const ConsoleExtras& extras);
[[nodiscard]] std::vector<Row> holder_rows(const HolderList& list);
/// Those that waited longest first.
[[nodiscard]] std::vector<Row> waiter_rows(std::vector<WaiterView> waiters);
[[nodiscard]] std::vector<Row> client_rows(std::vector<ClientView> clients);
[[nodiscard]] std::vector<Row> pin_rows(std::vector<PinView> pins);
[[nodiscard]] std::vector<Row> backend_rows(std::span<const BackendView> backends);
[[nodiscard]] std::vector<Row> stat_rows(const Snapshot& snapshot);
[[nodiscard]] std::vector<Row> config_rows(std::span<const ConfigView> keys);
[[nodiscard]] std::vector<Row> version_rows(std::string_view version);
[[nodiscard]] std::vector<Row> help_rows();

}  // namespace pgb
