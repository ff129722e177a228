#include "proxy/admin/console/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "proxy/admin/console/command.h"
#include "proxy/admin/statement_mask.h"

namespace pgb {

namespace {

// So that a row is one line of a terminal; the whole of it is in `/api/v1/holders`.
constexpr std::size_t kStatementMax = 80;
constexpr std::size_t kNameMax = 63;
constexpr std::size_t kValueMax = 200;

Cell number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// To the millisecond, and never below zero.
Cell seconds(Duration duration) {
    const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return static_cast<double>(std::max<std::int64_t>(whole, 0)) / 1000.0;
}

Cell name(std::string_view text) { return shown(text, kNameMax); }

Cell pid_or_null(std::uint32_t pid) { return pid == 0 ? Cell() : number(pid); }

std::uint64_t count_of(const std::vector<WordCount>& counts, std::string_view word) {
    for (const WordCount& count : counts) {
        if (count.word == word) return count.count;
    }
    return 0;
}

std::uint64_t sum_of(const std::vector<WordCount>& counts) {
    std::uint64_t sum = 0;
    for (const WordCount& count : counts) sum += count.count;
    return sum;
}

std::string mode_of(const WorkloadSnapshot& workload) {
    if (!workload.listed) return "removed";
    for (const WordCount& mode : workload.modes) {
        if (mode.count == 1) return std::string(mode.word);
    }
    return {};
}

std::string waits_for(const Holder& holder) {
    std::string pids;
    for (const LockHolder& lock_holder : holder.waits_for) {
        if (!pids.empty()) pids += ' ';
        pids += lock_holder.pid == 0 ? "prepared" : std::to_string(lock_holder.pid);
    }
    return pids;
}

}  // namespace

std::vector<Row> workload_rows(const Snapshot& snapshot, const ConsoleExtras& extras) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < snapshot.workloads.size(); ++i) {
        const WorkloadSnapshot& workload = snapshot.workloads[i];
        const bool is_gone = !workload.listed && workload.running + workload.waiting == 0;
        if (is_gone) continue;
        rows.push_back({workload.name, mode_of(workload), number(workload.running),
                        number(workload.concurrency), number(workload.waiting),
                        number(workload.queue), seconds(extras.queue_waits[i]),
                        number(workload.parked), number(workload.peak_running),
                        number(workload.admitted), number(sum_of(workload.rejected)),
                        number(count_of(workload.rejected, "queue_full")),
                        number(count_of(workload.rejected, "queue_timeout")),
                        number(sum_of(workload.would_reject)), number(workload.pinned),
                        number(workload.orphaned)});
    }
    return rows;
}

std::vector<Row> pool_rows(const Snapshot& snapshot, const ConsoleExtras& extras) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < snapshot.databases.size(); ++i) {
        const DatabaseSnapshot& database = snapshot.databases[i];
        const auto in_state = [&](std::string_view word) {
            return number(count_of(database.backends, word));
        };
        const std::string_view pause = extras.pauses[i];
        const bool is_down = database.outage && pause == "active";
        rows.push_back({name(database.name), std::string(is_down ? "unreachable" : pause),
                        number(database.pool_size), in_state("lent"), in_state("idle"),
                        in_state("pinned"), in_state("connecting"), in_state("closing"),
                        in_state("orphaned"), number(database.waiting), number(database.connects),
                        number(database.connect_failures), number(database.swaps)});
    }
    return rows;
}

std::vector<Row> holder_rows(const HolderList& list) {
    std::vector<Row> rows;
    for (const Holder& holder : list.holders) {
        Cell statement;
        if (!holder.statement.empty()) {
            statement =
                shown(mask_statement(holder.statement, holder.statement_whole), kStatementMax);
        }
        const std::string locks = waits_for(holder);
        rows.push_back({holder.workload, std::string(to_word(holder.state)),
                        seconds(list.made - holder.granted_at),
                        seconds(list.made - holder.state_since), pid_or_null(holder.pid),
                        holder.client, name(holder.user), name(holder.database),
                        name(holder.application_name), locks.empty() ? Cell() : Cell(locks),
                        std::move(statement)});
    }
    return rows;
}

std::vector<Row> waiter_rows(std::vector<WaiterView> waiters) {
    std::sort(waiters.begin(), waiters.end(), [](const WaiterView& a, const WaiterView& b) {
        return a.waited != b.waited ? a.waited > b.waited : a.client.id < b.client.id;
    });
    std::vector<Row> rows;
    for (const WaiterView& waiter : waiters) {
        const ClientView& client = waiter.client;
        rows.push_back({client.workload, number(client.id), std::string(waiter.waits_for),
                        seconds(waiter.waited), client.client, name(client.user),
                        name(client.database), name(client.application_name)});
    }
    return rows;
}

std::vector<Row> client_rows(std::vector<ClientView> clients) {
    std::sort(clients.begin(), clients.end(),
              [](const ClientView& a, const ClientView& b) { return a.id < b.id; });
    std::vector<Row> rows;
    rows.reserve(clients.size());
    for (const ClientView& client : clients) {
        rows.push_back({number(client.id), std::string(client.state), client.client,
                        name(client.user), name(client.database), name(client.application_name),
                        client.workload, pid_or_null(client.pid), seconds(client.age),
                        client.listener});
    }
    return rows;
}

std::vector<Row> pin_rows(std::vector<PinView> pins) {
    std::sort(pins.begin(), pins.end(),
              [](const PinView& a, const PinView& b) { return a.client.id < b.client.id; });
    std::vector<Row> rows;
    for (const PinView& pin : pins) {
        const ClientView& client = pin.client;
        rows.push_back({number(client.id), std::string(pin.kind), pid_or_null(client.pid),
                        client.workload, client.client, name(client.user), name(client.database),
                        name(client.application_name)});
    }
    return rows;
}

std::vector<Row> backend_rows(std::span<const BackendView> backends) {
    std::vector<Row> rows;
    for (const BackendView& backend : backends) {
        rows.push_back({name(backend.entry), pid_or_null(backend.pid), std::string(backend.state),
                        name(backend.user), name(backend.database),
                        backend.client == 0 ? Cell() : number(backend.client)});
    }
    return rows;
}

std::vector<Row> stat_rows(const Snapshot& snapshot) {
    const Totals& totals = snapshot.totals;
    const ReloadFigures& reloads = snapshot.reloads;
    const std::pair<std::string_view, std::uint64_t> stats[] = {
        {"uptime_seconds", static_cast<std::uint64_t>(snapshot.uptime_seconds)},
        {"clients", snapshot.clients},
        {"startup_sessions", snapshot.startup_sessions},
        {"clients_accepted", totals.clients_accepted},
        {"clients_refused", totals.clients_refused},
        {"auth_failures", totals.auth_failures},
        {"tls_handshakes", totals.tls_handshakes},
        {"tls_handshake_failures", totals.tls_handshake_failures},
        {"cancel_requests", totals.cancel_requests},
        {"backend_cancels_failed", totals.backend_cancels_failed},
        {"statements_prepared", totals.statements_prepared},
        {"statements_evicted", totals.statements_evicted},
        {"bytes_from_clients", totals.bytes_from_clients},
        {"bytes_to_clients", totals.bytes_to_clients},
        {"bytes_from_backends", totals.bytes_from_backends},
        {"bytes_to_backends", totals.bytes_to_backends},
        {"config_reloads_succeeded", reloads.succeeded},
        {"config_reloads_failed", reloads.failed},
        {"config_restart_needed", reloads.restart_needed},
        {"config_live_changes", reloads.live_changes},
    };
    std::vector<Row> rows;
    rows.reserve(std::size(stats));
    for (const auto& [stat, value] : stats) rows.push_back({std::string(stat), number(value)});
    return rows;
}

std::vector<Row> config_rows(std::span<const ConfigView> keys) {
    std::vector<Row> rows;
    for (const ConfigView& key : keys) {
        rows.push_back({shown(key.key, kValueMax), shown(key.value, kValueMax),
                        key.in_the_file.empty() ? Cell() : Cell(shown(key.in_the_file, kValueMax)),
                        std::string(key.change)});
    }
    return rows;
}

std::vector<Row> version_rows(std::string_view version) {
    return {{"pgbulkhead " + std::string(version)}};
}

std::vector<Row> help_rows() {
    std::vector<Row> rows;
    for (const ConsoleHelp& help : console_help()) {
        rows.push_back({std::string(help.command), std::string(help.meaning)});
    }
    return rows;
}

}  // namespace pgb
