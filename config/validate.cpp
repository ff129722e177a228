#include "config/validate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/authentication.h"
#include "config/codes.h"
#include "config/forms.h"
#include "config/pools.h"
#include "config/read.h"
#include "config/suggest.h"
#include "config/validate_tls.h"

namespace pgb::config {
namespace {

// sun_path holds 108 bytes with its final zero.
constexpr std::size_t kSocketPathMax = 107;

/// SQLSTATEs that some client takes for something other than "try the transaction again".
struct RefusedState {
    std::string_view prefix;
    std::string_view why;
};
constexpr std::array kRefusedStates{
    RefusedState{"00", "says that all went well"},
    RefusedState{"01", "is a warning, and pools throw the connection away on 01002"},
    RefusedState{"02", "says that there was no data"},
    RefusedState{"08", "makes clients and pools throw the connection away"},
    RefusedState{"57P0", "makes clients and pools throw the connection away"},
    RefusedState{"58", "makes clients throw the connection, or all of a pool, away"},
    RefusedState{"F0", "makes clients throw the connection, or all of a pool, away"},
    RefusedState{"XX", "makes clients throw the connection, or all of a pool, away"},
    RefusedState{"0A000", "makes drivers drop their prepared statements and pools the connection"},
    RefusedState{"26000", "makes drivers prepare their statements again and repeat the work"},
    RefusedState{"25P02", "says that the transaction has failed before"},
    RefusedState{"57014", "says that the statement was cancelled"},
};

// What client libraries look for in an error's text and a workload's name could contain; the other
// texts that they look for have blanks in them.
constexpr std::array<std::string_view, 2> kGreppedWords{"query_wait_timeout", "ORA-03114"};

std::string path_of(const char* list, std::size_t index, const char* key) {
    return std::string(list) + "[" + std::to_string(index) + "]." + key;
}

/// Complains about the second and further of equal names in `listen` or `workloads`.
template <typename Entry>
void validate_unique(const char* list, const std::vector<Entry>& entries, Findings& findings) {
    std::map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::string path = path_of(list, i, "name");
        if (!findings.given(path) || !findings.usable(path)) continue;
        if (seen.emplace(entries[i].name, i).second) continue;
        findings.add(path,
                     {code::kDuplicateName,
                      "the name " + quote(entries[i].name) + " is taken in `" + list + "`", ""});
    }
}

void validate_socket(const Listener& listener, std::size_t index, Findings& findings) {
    const std::string path = path_of("listen", index, "unix_socket_dir");
    if (!findings.usable(path)) return;
    const std::string& dir = *listener.unix_socket_dir;
    const std::string name = dir + "/.s.PGSQL." + std::to_string(listener.port);
    if (dir[0] != '/') {
        findings.add(path, {code::kSocketPath, quote(dir) + " is not an absolute path", ""});
    } else if (name.size() > kSocketPathMax) {
        findings.add(path, {code::kSocketPath,
                            "the socket's path has " + std::to_string(name.size()) +
                                " bytes, the system takes " + std::to_string(kSocketPathMax),
                            ""});
    }
    if (listener.port == 0) {
        findings.add(path_of("listen", index, "port"),
                     {code::kRange, "a Unix socket needs a port above 0 for its name", ""});
    }
}

void validate_listener(const Listener& listener, std::size_t index, Findings& findings) {
    const std::string entry = "listen[" + std::to_string(index) + "]";
    const bool known =
        findings.usable(entry + ".address") && findings.usable(entry + ".unix_socket_dir");
    if (!known) return;
    if (listener.address.has_value() == listener.unix_socket_dir.has_value()) {
        findings.add(entry, {code::kDoor,
                             listener.address ? "a listener has either `address` or "
                                                "`unix_socket_dir`, not both"
                                              : "a listener needs `address` or `unix_socket_dir`",
                             ""});
    } else {
        if (listener.unix_socket_dir) validate_socket(listener, index, findings);
        validate_authentication(listener, index, findings);
    }
}

/// Two doors with one address could not both be opened. Port 0 is another port each time.
void validate_addresses(const Config& config, Findings& findings) {
    std::map<std::string, std::string> owners;
    const auto claim = [&](const std::string& address, const std::string& path) {
        const auto [owner, fresh] = owners.emplace(address, path);
        if (fresh || !findings.usable(path)) return;
        findings.add(path, {code::kSameAddress,
                            quote(address) + " is already taken by `" + owner->second + "`", ""});
    };
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
        const Listener& listener = config.listen[i];
        const std::string port = std::to_string(listener.port);
        if (!findings.usable(path_of("listen", i, "port")) || listener.port == 0) continue;
        if (listener.unix_socket_dir) {
            claim(*listener.unix_socket_dir + "/.s.PGSQL." + port,
                  path_of("listen", i, "unix_socket_dir"));
        } else if (listener.address) {
            claim(*listener.address + ":" + port, path_of("listen", i, "address"));
        }
    }
    const auto claim_admin = [&](const std::optional<Address>& address, const std::string& path) {
        if (!address || address->port == 0) return;
        claim(address->host + ":" + std::to_string(address->port), path);
    };
    claim_admin(config.admin.http, "admin.http");
    claim_admin(config.admin.probes, "admin.probes");
    if (config.admin.http && !is_loopback(config.admin.http->host)) {
        findings.warn("admin.http", {code::kOpenAdmin,
                                     "`admin.http` may be reached from other machines; for a "
                                     "kubelet there is `admin.probes`",
                                     ""});
    }
}

void validate_sqlstate(const std::string& state, const std::string& path, Findings& findings) {
    if (!findings.usable(path)) return;
    for (const RefusedState& refused : kRefusedStates) {
        if (!state.starts_with(refused.prefix)) continue;
        findings.add(path, {code::kSqlstateRefused,
                            "SQLSTATE " + quote(state) + " " + std::string(refused.why), "40001"});
        return;
    }
    if (state.starts_with("53")) {
        findings.warn(path, {code::kSqlstateRisky,
                             "SQLSTATE " + quote(state) +
                                 " makes some clients throw the "
                                 "connection, or all of a pool, away",
                             "40001"});
    }
}

void validate_match(const Config& config, std::size_t index, Findings& findings) {
    const std::optional<std::string>& wanted = config.workloads[index].match.listener;
    const std::string path = path_of("workloads", index, "match.listener");
    if (!wanted || !findings.usable(path) || !findings.usable("listen")) return;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
        if (!findings.usable(path_of("listen", i, "name"))) return;
        names.push_back(config.listen[i].name);
    }
    if (std::find(names.begin(), names.end(), *wanted) != names.end()) return;
    findings.add(path, {code::kUnknownListener, "there is no listener " + quote(*wanted),
                        suggest(*wanted, names)});
}

void validate_name(const Workload& workload, std::size_t index, Findings& findings) {
    const std::string path = path_of("workloads", index, "name");
    if (findings.usable(path) && workload.name == kHousekeepingName) {
        findings.add(path, {code::kBadName,
                            quote(workload.name) + " is the name of the lane of housekeeping", ""});
    }
    for (std::string_view word : kGreppedWords) {
        if (!findings.usable(path) || workload.name.find(word) == std::string::npos) continue;
        findings.add(path, {code::kBadName,
                            quote(workload.name) + " contains " + quote(word) +
                                ", which client libraries take for a lost connection",
                            ""});
    }
}

void validate_queue(const Workload& workload, std::size_t index, Findings& findings) {
    const std::string queue = path_of("workloads", index, "queue");
    const std::string wait = path_of("workloads", index, "queue_wait");
    if (!findings.usable(queue) || !findings.usable(wait)) return;
    const bool waits = workload.queue_wait > Duration{0};
    if (workload.queue > 0 && !waits) {
        findings.warn(queue,
                      {code::kUnusedQueue, "a queue without a `queue_wait` is never used", ""});
    }
    if (workload.queue == 0 && waits) {
        findings.warn(wait,
                      {code::kUnusedQueue, "a `queue_wait` without a queue is never used", ""});
    }
}

void validate_drain(const Drain& drain, Findings& findings) {
    if (!findings.usable("drain.delay") || !findings.usable("drain.timeout")) return;
    if (drain.delay < drain.timeout) return;
    findings.add("drain.delay",
                 {code::kDrainDelay,
                  "it has to be shorter than `drain.timeout`, which counts from SIGTERM, too", ""});
}

/// `default` stands last, has no conditions, and nothing before it takes everything.
void validate_order(const Config& config, Findings& findings) {
    if (config.workloads.empty() || !findings.usable("workloads")) return;
    const std::size_t last = config.workloads.size() - 1;
    for (std::size_t i = 0; i <= last; ++i) {
        const Workload& workload = config.workloads[i];
        const std::string path = path_of("workloads", i, "name");
        const bool named = findings.given(path) && findings.usable(path);
        if (named && (workload.name == "default") != (i == last)) {
            findings.add(path, {code::kDefaultLast,
                                i == last ? "the last workload must be named `default`"
                                          : "`default` must be the last workload",
                                ""});
        }
        const std::string match = path_of("workloads", i, "match");
        const bool open = workload.match == Match{};
        if (i == last && named && workload.name == "default" && !open) {
            findings.add(match,
                         {code::kDefaultLast, "`default` takes the rest: no `match` here", ""});
        }
        const bool judged = findings.usable("workloads[" + std::to_string(i) + "]");
        if (i < last && open && judged && findings.usable(path) && !findings.given(match)) {
            findings.warn(path, {code::kUnreachable,
                                 "without a `match` this workload takes everything, and nothing "
                                 "reaches those after it",
                                 ""});
        }
    }
}

void validate_database_names(const Config& config, Findings& findings) {
    for (std::size_t i = 0; i < config.databases.size(); ++i) {
        const std::string& name = config.databases[i].name;
        if (name == config.admin.console_database) {
            findings.add(path_of("databases", i, "name"), {code::kDuplicateName,
                                                           "the name " + quote(name) +
                                                               " opens the console; see "
                                                               "`admin.console_database`",
                                                           ""});
        }
        const bool fits = name.size() <= kNameMax && !judge_text(Form::plain, name);
        if (fits) continue;
        findings.add(
            path_of("databases", i, "name"),
            {code::kBadName,
             quote(name) + " is no database name: 1 to 63 bytes, no control characters", ""});
    }
}

}  // namespace

void validate(const Config& config, Findings& findings) {
    validate_unique("listen", config.listen, findings);
    validate_unique("workloads", config.workloads, findings);
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
        if (findings.usable("listen[" + std::to_string(i) + "]")) {
            validate_listener(config.listen[i], i, findings);
        }
    }
    validate_addresses(config, findings);
    validate_database_names(config, findings);
    for (std::size_t i = 0; i < config.workloads.size(); ++i) {
        validate_sqlstate(config.workloads[i].sqlstate, path_of("workloads", i, "sqlstate"),
                          findings);
        validate_match(config, i, findings);
        validate_name(config.workloads[i], i, findings);
        validate_queue(config.workloads[i], i, findings);
    }
    validate_order(config, findings);
    validate_drain(config.drain, findings);
    validate_tls(config, findings);
    validate_pools(config, findings);
}

}  // namespace pgb::config
