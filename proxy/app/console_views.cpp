// What the console's views show of the server at one moment. Everything here belongs to Consoles.

#include "config/keys.h"
#include "config/values.h"
#include "proxy/app/console.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

namespace {

/// Appends the keys of one struct under `prefix`; `entry` is a copy of ours, as slots are not const.
void append_keys(const config::Section& section, void* entry, const std::string& prefix,
                 const std::map<std::string, std::string>& file, std::vector<ConfigView>& out) {
    for (const config::Key& key : section.keys) {
        if (key.name == "name") continue;
        ConfigView view{.key = prefix + std::string(key.name),
                        .value = config::show_masked(key, key.slot(entry)),
                        .in_the_file = {},
                        .change = key.reload == config::Reload::live ? "live" : "restart"};
        if (const auto other = file.find(view.key); other != file.end()) {
            view.in_the_file = other->second;
        }
        out.push_back(std::move(view));
    }
}

}  // namespace

ConsoleExtras Consoles::extras() const {
    ConsoleExtras extras;
    for (std::size_t i = 0; i < server_.config().workloads.size(); ++i) {
        const LaneId lane{static_cast<std::uint16_t>(i)};
        extras.queue_waits.push_back(server_.gate_.budget(lane).queue_wait);
    }
    for (const auto& database : server_.databases_) {
        const Pool& pool = database->pool();
        extras.pauses.emplace_back(!pool.is_paused() ? "active"
                                   : pool.is_quiet() ? "paused"
                                                     : "pausing");
    }
    return extras;
}

std::vector<Row> Consoles::clients() const {
    std::vector<ClientView> clients;
    for (const auto& [id, frontend] : server_.frontends_) {
        if (!frontend->is_dead()) clients.push_back(frontend->client_view());
    }
    return client_rows(std::move(clients));
}

std::vector<Row> Consoles::waiters() const {
    std::vector<WaiterView> waiters;
    for (const auto& [id, frontend] : server_.frontends_) {
        if (auto waiter = frontend->waiter_view()) waiters.push_back(std::move(*waiter));
    }
    return waiter_rows(std::move(waiters));
}

std::vector<Row> Consoles::pins() const {
    std::vector<PinView> pins;
    for (const auto& [id, frontend] : server_.frontends_) {
        if (auto pin = frontend->pin_view()) pins.push_back(std::move(*pin));
    }
    return pin_rows(std::move(pins));
}

std::vector<Row> Consoles::backends() const {
    std::vector<BackendView> views;
    for (const auto& database : server_.databases_) database->list_backends(views);
    return backend_rows(views);
}

std::vector<Row> Consoles::configuration() const {
    config::Config in_force = server_.rules().as_file();
    const std::map<std::string, std::string>& file = server_.live_changes().past_the_file();
    std::vector<ConfigView> views;
    for (config::Workload& workload : in_force.workloads) {
        append_keys(config::workload_section(), &workload, "workloads[" + workload.name + "].",
                    file, views);
    }
    for (config::DatabaseEntry& entry : in_force.databases) {
        append_keys(config::database_section(), &entry, "databases[" + entry.name + "].", file,
                    views);
    }
    for (config::Listener& listener : in_force.listen) {
        append_keys(config::listener_section(), &listener, "listen[" + listener.name + "].", file,
                    views);
    }
    append_keys(config::top_section(), &in_force, "", file, views);
    return config_rows(views);
}

void Database::list_backends(std::vector<BackendView>& out) const {
    for (const auto& backend : backends_) {
        if (backend == nullptr) continue;
        const Backend* place = pool_.find(backend->id());
        const FrontendConnection* user = backend->user();
        out.push_back(
            {.entry = entry_.name,
             .pid = backend->pid(),
             .state = place == nullptr ? "closing" : kBackendStateWords[index_of(place->state)],
             .user = user_of(backend->group()),
             .database = database_of(backend->group()),
             .client = user == nullptr ? 0 : user->id()});
    }
    for (const auto& [slot, lost] : lost_) {
        out.push_back({.entry = entry_.name,
                       .pid = lost.pid,
                       .state = kBackendStateWords[index_of(BackendState::orphaned)],
                       .user = {},
                       .database = {},
                       .client = 0});
    }
}

}  // namespace pgb
