#include "proxy/cli/check.h"

#include "config/print.h"

namespace pgb {

int check(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
          std::ostream& err) {
    if (options.list_keys) {
        out << config::print_keys();
        return config::kExitOk;
    }
    config::Loaded loaded;
    if (options.file) {
        loaded = config::load_file(*options.file, env);
    } else {
        loaded.config = config::default_config(env);
    }
    for (const config::Complaint& complaint : loaded.complaints) err << complaint.text() << '\n';
    if (!loaded.config) return config::kExitBadUsage;
    out << config::print(*loaded.config, config::Secrets::masked);
    return config::kExitOk;
}

}  // namespace pgb
