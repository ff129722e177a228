#include "config/validate_tls.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/codes.h"

namespace pgb::config {
namespace {

struct NamedFile {
    std::string_view key;
    const std::optional<std::string>& file;
};

void demand(const std::string& path, const NamedFile& named, const std::string& why,
            Findings& findings) {
    const std::string key = path + "." + std::string(named.key);
    if (named.file || !findings.usable(key)) return;
    findings.add(path, {code::kTlsFiles, why + " needs `" + std::string(named.key) + "`", ""});
}

void validate_door(const Listener& listener, const std::string& path, Findings& findings) {
    const Tls& tls = listener.tls;
    if (!findings.usable(path + ".mode")) return;
    if (tls.mode == TlsMode::disable) {
        const std::array<NamedFile, 4> files{{{"cert", tls.cert},
                                              {"key", tls.key},
                                              {"client_ca", tls.client_ca},
                                              {"min_version", tls.min_version}}};
        for (const NamedFile& named : files) {
            const std::string key = path + "." + std::string(named.key);
            if (!named.file || !findings.usable(key)) continue;
            findings.warn(key, {code::kTlsUnused, "without a `mode` there is no TLS here", ""});
        }
        return;
    }
    if (listener.unix_socket_dir) {
        findings.add(path + ".mode",
                     {code::kTlsFiles, "a Unix socket has no TLS, and needs none", ""});
        return;
    }
    demand(path, {"cert", tls.cert}, "TLS", findings);
    demand(path, {"key", tls.key}, "TLS", findings);
}

}  // namespace

void validate_tls(const Config& config, Findings& findings) {
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
        const std::string entry = "listen[" + std::to_string(i) + "]";
        if (findings.usable(entry)) validate_door(config.listen[i], entry + ".tls", findings);
    }
    const AdminTls& admin = config.admin.tls;
    if (admin.key || admin.client_ca) demand("admin.tls", {"cert", admin.cert}, "TLS", findings);
    if (admin.cert) demand("admin.tls", {"key", admin.key}, "TLS", findings);
}

}  // namespace pgb::config
