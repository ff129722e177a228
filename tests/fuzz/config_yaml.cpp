#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "config/classify.h"
#include "config/print.h"
#include "config/yaml.h"

// Any text is a configuration or has an error, and what was read survives being printed and read
// again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb::config;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const EnvLookup env = [](std::string_view name) {
        return name == "SET" ? std::optional<std::string>("value") : std::nullopt;
    };
    const Loaded loaded = load_text(text, "fuzz", env);
    for (const Complaint& complaint : loaded.complaints) {
        if (complaint.text().empty()) std::abort();
    }
    if (loaded.config.has_value() == has_errors(loaded.complaints)) std::abort();
    if (!loaded.config) return 0;

    const Loaded again = load_text(print(*loaded.config, Secrets::shown), "printed", env);
    if (again.config != loaded.config) std::abort();
    const Classifier classifier(*loaded.config);
    if (classifier.workload_of({text, text, text, text, text}) >= loaded.config->workloads.size()) {
        std::abort();
    }
    return 0;
}
