#include "proxy/io/connect_plan.h"

#include <arpa/inet.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace pgb {

namespace {

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using OptionArray = std::unique_ptr<PQconninfoOption, FreeOptions>;

struct FinishConnection {
    void operator()(PGconn* connection) const { PQfinish(connection); }
};

ConnectFailure own_failure(const ConnectRequest& request, std::string message) {
    ConnectFailure failure;
    failure.id = request.id;
    std::replace(message.begin(), message.end(), '\n', ' ');
    while (!message.empty() && message.back() == ' ') message.pop_back();
    failure.message = std::move(message);
    return failure;
}

/// Blanks what stands in double quotes: a broken connection string may have its password there.
std::string without_quoted(std::string_view text) {
    std::string result;
    bool inside = false;
    for (const char c : text) {
        if (c == '"') {
            inside = !inside;
            result += inside ? "\"..." : "\"";
        } else if (!inside) {
            result += c;
        }
    }
    return result;
}

bool string_has(const PQconninfoOption* options, std::string_view keyword) {
    for (; options->keyword != nullptr; ++options) {
        if (keyword == options->keyword) return options->val != nullptr && *options->val != '\0';
    }
    return false;
}

/// Lets libpq merge everything and stop before the network: a gssencmode that it does not know
/// fails after the options were read and before the first host is resolved.
Result<ConnectOptions, ConnectFailure> merge_options(const ConnectRequest& request) {
    const char* const keywords[] = {"dbname", "gssencmode", nullptr};
    const char* const values[] = {request.conninfo.c_str(), "none-to-merge-only", nullptr};
    const std::unique_ptr<PGconn, FinishConnection> merged(
        PQconnectStartParams(keywords, values, 1));
    if (merged == nullptr) return own_failure(request, "out of memory");
    const std::string_view complaint = PQerrorMessage(merged.get());
    if (complaint.find("none-to-merge-only") == std::string_view::npos) {
        return own_failure(request, std::string(complaint));
    }
    ConnectOptions options;
    const OptionArray array(PQconninfo(merged.get()));
    for (const PQconninfoOption* at = array.get(); at != nullptr && at->keyword != nullptr; ++at) {
        if (at->val != nullptr) options.set(at->keyword, at->val);
    }
    options.set("gssencmode", "disable");
    return options;
}

void choose_sslmode(ConnectOptions& options, bool in_string) {
    const char* variable = std::getenv("PGSSLMODE");
    const bool given = in_string || (variable != nullptr && *variable != '\0');
    // A service that says anything but libpq's own default is told apart by its value.
    if (!given && options.get("sslmode") == "prefer") options.set("sslmode", "disable");
}

void add_keepalive(ConnectOptions& options, const TcpOptions& tcp) {
    const auto unless_given = [&options](std::string_view keyword, std::int64_t value) {
        if (options.get(keyword).empty()) options.set(keyword, std::to_string(value));
    };
    const auto unless_zero = [&unless_given](std::string_view keyword, std::int64_t value) {
        // Zero is our word for the system's own value, and libpq's for an error.
        if (value > 0) unless_given(keyword, value);
    };
    const auto seconds = [](Duration duration) {
        return std::chrono::ceil<std::chrono::seconds>(duration).count();
    };
    unless_given("keepalives", tcp.keepalive ? 1 : 0);
    unless_zero("keepalives_idle", seconds(tcp.keepalive_idle));
    unless_zero("keepalives_interval", seconds(tcp.keepalive_interval));
    unless_zero("keepalives_count", tcp.keepalive_count);
}

bool is_plain_name(std::string_view name) {
    return !name.empty() &&
           name.find_first_of(std::string_view("=-\0", 3)) == std::string_view::npos;
}

Result<bool, ConnectFailure> add_startup_parameters(ConnectOptions& options,
                                                    const ConnectRequest& request) {
    std::string text = options.get("options");
    const auto append = [&text](std::string_view more) {
        // A lone backslash at the end of a client's text would escape our separator; PostgreSQL
        // ignores it at the end.
        std::size_t backslashes = 0;
        while (backslashes < text.size() && text[text.size() - 1 - backslashes] == '\\')
            ++backslashes;
        if (backslashes % 2 == 1) text.pop_back();
        if (!text.empty()) text += ' ';
        text += more;
    };
    std::string settings;
    for (const auto& [name, value] : request.startup_parameters) {
        // libpq has a meaning of its own for an empty value and for the encoding `auto`.
        const bool keyword =
            name == "application_name" || (name == "client_encoding" && value != "auto");
        if (name == "options") {
            append(value);
        } else if (keyword && !value.empty()) {
            options.set(name, value);
        } else if (is_plain_name(name)) {
            if (keyword) options.set(name, "");
            settings += settings.empty() ? "-c " : " -c ";
            settings += escape_option(std::string(name).append(1, '=').append(value));
        } else {
            // The switch -c would read such a name as another one.
            ConnectFailure failure =
                own_failure(request, "unrecognized configuration parameter \"" + name + '"');
            failure.sqlstate = "42704";
            return failure;
        }
    }
    if (!settings.empty()) append(settings);
    options.set("options", text);
    return true;
}

std::vector<std::string> split_commas(const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

bool is_numeric_address(const std::string& host) {
    unsigned char bytes[sizeof(in6_addr)];
    return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
           inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

std::string ConnectOptions::get(std::string_view keyword) const {
    for (const auto& [known, value] : options_) {
        if (known == keyword) return value;
    }
    return {};
}

void ConnectOptions::set(std::string_view keyword, std::string value) {
    const auto at = std::find_if(options_.begin(), options_.end(),
                                 [&](const auto& option) { return option.first == keyword; });
    if (value.empty()) {
        if (at != options_.end()) options_.erase(at);
    } else if (at != options_.end()) {
        at->second = std::move(value);
    } else {
        options_.emplace_back(keyword, std::move(value));
    }
}

void ConnectOptions::wipe_password() {
    for (auto& [known, value] : options_) {
        if (known == "password") wipe(value);
    }
    set("password", "");
}

bool ConnectHost::needs_lookup() const {
    // A slash or an at sign begins the directory or the abstract name of a Unix socket.
    return hostaddr.empty() && !host.empty() && host[0] != '/' && host[0] != '@' &&
           !is_numeric_address(host);
}

Result<ConnectOptions, ConnectFailure> plan_connect(const ConnectRequest& request) {
    char* complaint = nullptr;
    const OptionArray own(PQconninfoParse(request.conninfo.c_str(), &complaint));
    if (own == nullptr) {
        const std::string words = without_quoted(complaint != nullptr ? complaint : "");
        PQfreemem(complaint);
        return own_failure(request, "the connection string cannot be read: " + words);
    }
    auto merged = merge_options(request);
    if (!merged.ok()) return merged;
    ConnectOptions& options = merged.value();
    choose_sslmode(options, string_has(own.get(), "sslmode"));
    add_keepalive(options, request.tcp);
    if (!request.database.empty()) options.set("dbname", request.database);
    if (!request.user.empty()) options.set("user", request.user);
    if (!request.password.empty()) options.set("password", request.password.text());
    if (auto added = add_startup_parameters(options, request); !added.ok()) return added.error();
    return merged;
}

std::vector<ConnectHost> hosts_of(const ConnectOptions& options) {
    const std::vector<std::string> hosts = split_commas(options.get("host"));
    const std::vector<std::string> addresses = split_commas(options.get("hostaddr"));
    const std::vector<std::string> ports = split_commas(options.get("port"));
    // libpq has compared the counts already: equal, or one port for all.
    std::vector<ConnectHost> result(std::max(hosts.size(), addresses.size()));
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (i < hosts.size()) result[i].host = hosts[i];
        if (i < addresses.size()) result[i].hostaddr = addresses[i];
        result[i].port = ports.size() == 1 ? ports[0] : i < ports.size() ? ports[i] : "";
    }
    return result;
}

void set_hosts(ConnectOptions& options, const std::vector<ConnectHost>& hosts) {
    ConnectHost joined;
    bool has_address = false;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        const char* separator = i == 0 ? "" : ",";
        joined.host += separator + hosts[i].host;
        joined.hostaddr += separator + hosts[i].hostaddr;
        joined.port += separator + hosts[i].port;
        has_address = has_address || !hosts[i].hostaddr.empty();
    }
    options.set("host", joined.host);
    options.set("hostaddr", has_address ? joined.hostaddr : "");
    options.set("port", joined.port);
}

std::string escape_option(std::string_view word) {
    std::string escaped;
    for (const char c : word) {
        if (c == '\\' || c == ' ' || (c >= '\t' && c <= '\r')) escaped += '\\';
        escaped += c;
    }
    return escaped;
}

}  // namespace pgb
