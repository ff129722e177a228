#include "proxy/cli/healthcheck.h"

#include <sstream>

#include "proxy/cli/load_config.h"
#include "proxy/io/http_get.h"

namespace pgb {

namespace {

/// What listens on every address is found on loopback.
std::string host_in_url(const std::string& host) {
    if (host == "0.0.0.0" || host == "*") return "127.0.0.1";
    if (host == "::") return "[::1]";
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

/// The verdict and, behind it, the reasons that came below it.
std::string in_one_line(const std::string& text) {
    std::string line = text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n', at)) {
        line.replace(at, 1, "; ");
    }
    return line;
}

}  // namespace

Result<std::string> health_url(const config::Admin& admin) {
    const std::optional<config::Address>& address = admin.probes ? admin.probes : admin.http;
    if (!address) return Error{"the file has neither admin.probes nor admin.http"};
    if (address->port == 0) return Error{"the kernel chose the port; name it with --url"};
    if (admin.tls.client_ca) {
        return Error{"admin.tls.client_ca asks for a certificate, and healthcheck has none"};
    }
    return std::string(admin.tls.cert ? "https://" : "http://") + host_in_url(address->host) + ":" +
           std::to_string(address->port);
}

int healthcheck(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
                std::ostream& err) {
    const config::HealthOptions& asked = options.health;
    // The name in its certificate is the one that others know it by, not that of loopback. Who could
    // stand in for it there has its machine already, and learns nothing from this question.
    HttpTarget target{asked.url.value_or(""), asked.authorities, asked.url.has_value()};
    if (!asked.url) {
        std::ostringstream complaints;
        const std::optional<config::Config> loaded = load_config(options, env, complaints);
        if (!loaded) {
            err << complaints.str();
            return config::kExitBadUsage;
        }
        Result<std::string> url = health_url(loaded->admin);
        if (!url) {
            err << url.error().message << '\n';
            return config::kExitFailed;
        }
        target.url = std::move(url.value());
    }
    const Result<std::string> answer = http_get(target, asked.ready ? "/readyz" : "/healthz");
    (answer ? out : err) << in_one_line(answer ? answer.value() : answer.error().message) << '\n';
    return answer ? config::kExitOk : config::kExitFailed;
}

}  // namespace pgb
