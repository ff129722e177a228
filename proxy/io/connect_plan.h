#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/base/result.h"
#include "proxy/io/backend_connector.h"

namespace pgb {

/// libpq's connection options, each keyword at most once; an absent one is libpq's default.
class ConnectOptions {
public:
    [[nodiscard]] std::string get(std::string_view keyword) const;
    /// An empty value removes the keyword, as libpq takes the two for the same.
    void set(std::string_view keyword, std::string value);
    [[nodiscard]] const ParameterList& all() const { return options_; }
    /// Overwrites the password.
    void wipe_password();

private:
    ParameterList options_;
};

/// One place to try. Empty fields are libpq's defaults.
struct ConnectHost {
    std::string host;
    std::string hostaddr;
    std::string port;

    /// Has a name that somebody must resolve.
    [[nodiscard]] bool needs_lookup() const;
};

/// What libpq would use for the request: string, service and PG* variables merged by libpq itself
/// (no second opinion about its precedence), then our rules for `sslmode` and `gssencmode`, the
/// database, the user and the startup parameters. Reads files, touches no network.
[[nodiscard]] Result<ConnectOptions, ConnectFailure> plan_connect(const ConnectRequest& request);

/// The hosts of the options, in libpq's order.
[[nodiscard]] std::vector<ConnectHost> hosts_of(const ConnectOptions& options);
void set_hosts(ConnectOptions& options, const std::vector<ConnectHost>& hosts);

/// The text after which PostgreSQL's pg_split_opts() reads `word` as one word.
[[nodiscard]] std::string escape_option(std::string_view word);

}  // namespace pgb
