#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <variant>

#include "config/options.h"
#include "proxy/app/version.h"
#include "proxy/cli/check.h"
#include "proxy/cli/explain.h"
#include "proxy/cli/healthcheck.h"
#include "proxy/cli/plan.h"
#include "proxy/cli/run.h"
#include "proxy/cli/top.h"

namespace pgb {
namespace {

int program(int argc, char** argv) {
    const auto parsed = config::parse_options(argc, argv, kVersion);
    if (const auto* leave = std::get_if<config::Leave>(&parsed)) {
        (leave->exit_code == config::kExitOk ? std::cout : std::cerr) << leave->text;
        return leave->exit_code;
    }
    const config::EnvLookup env = [](std::string_view name) -> std::optional<std::string> {
        const char* value = std::getenv(std::string(name).c_str());
        if (value == nullptr) return std::nullopt;
        return std::string(value);
    };
    const auto& options = std::get<config::Options>(parsed);
    switch (options.command) {
        case config::Command::run: return run(options, env, std::cerr);
        case config::Command::check: return check(options, env, std::cout, std::cerr);
        case config::Command::explain: return explain(options, env, std::cout, std::cerr);
        case config::Command::healthcheck: return healthcheck(options, env, std::cout, std::cerr);
        case config::Command::plan: return plan(options, env, std::cout, std::cerr);
        case config::Command::top: return top(options, std::cout, std::cerr);
    }
    return config::kExitBadUsage;
}

}  // namespace
}  // namespace pgb

int main(int argc, char** argv) {
    // Nothing of ours throws; what a library throws when memory has run out ends here.
    try {
        return pgb::program(argc, argv);
    } catch (...) {
        std::fputs("pgbulkhead: out of memory\n", stderr);
        return pgb::config::kExitFailed;
    }
}
