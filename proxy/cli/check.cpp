#include "proxy/cli/check.h"

#include <string>
#include <vector>

#include "config/print.h"
#include "proxy/app/auth_files.h"
#include "proxy/cli/load_config.h"

namespace pgb {

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
    out << config::print(*loaded, config::Secrets::masked);
    return config::kExitOk;
}

}  // namespace pgb
