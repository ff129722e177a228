#include "proxy/cli/load_config.h"

#include <utility>

namespace pgb {

std::optional<config::Config> load_config(const config::Options& options,
                                          const config::EnvLookup& env, std::ostream& err) {
    if (!options.file) return config::default_config(env);
    config::Loaded loaded = config::load_file(*options.file, env);
    for (const config::Complaint& complaint : loaded.complaints) err << complaint.text() << '\n';
    return std::move(loaded.config);
}

}  // namespace pgb
