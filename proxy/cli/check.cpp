#include "proxy/cli/check.h"

#include <string>
#include <vector>

#include "config/print.h"
#include "proxy/app/auth_files.h"
#include "proxy/app/tls_doors.h"
#include "proxy/cli/load_config.h"

namespace pgb {

namespace {

/// A file of budgets whose certificates do not serve would not start.
bool certificates_serve(const config::Config& config, std::ostream& err) {
    bool all = true;
    const auto judge = [&](const std::string& name, const TlsFiles& files) {
        const auto loaded = TlsContext::load(files);
        if (loaded) return;
        all = false;
        err << "tls of \"" << name << "\": " << loaded.error().message << '\n';
    };
    for (const config::Listener& listener : config.listen) {
        if (listener.tls.mode == config::TlsMode::disable) continue;
        judge(listener.name, tls_files(listener.tls));
    }
    if (config.admin.tls.cert) judge("admin", tls_files(config.admin.tls));
    return all;
}

}  // namespace

int check(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
          std::ostream& err) {
    if (options.list_keys) {
        out << config::print_keys();
        return config::kExitOk;
    }
    const std::optional<config::Config> loaded = load_config(options, env, err);
    if (!loaded) return config::kExitBadUsage;
    const std::vector<std::string> complaints = auth_file_complaints(*loaded);
    for (const std::string& complaint : complaints) err << complaint << '\n';
    if (!complaints.empty()) return config::kExitBadUsage;
    if (!certificates_serve(*loaded, err)) return config::kExitBadUsage;
    out << config::print(*loaded, config::Secrets::masked);
    return config::kExitOk;
}

}  // namespace pgb
