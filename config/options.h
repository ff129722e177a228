#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace pgb::config {

/// Exit codes of the program, the same for every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // something went wrong while running
inline constexpr int kExitBadUsage = 2;  // wrong command line or wrong configuration

enum class Command : std::uint8_t { run, check };

struct Options {
    Command command = Command::run;
    std::optional<std::string> file;  // -c FILE; none: the embedded default serves
    bool list_keys = false;           // check --keys
    bool operator==(const Options&) const = default;
};

/// The command line asked for a text (help, version) or was wrong: print it and leave. Text of exit
/// code 0 belongs on standard output, any other on standard error.
struct Leave {
    std::string text;
    int exit_code = kExitOk;
};

/// Never throws and never exits. `version` is what --version prints after the program's name.
[[nodiscard]] std::variant<Options, Leave> parse_options(int argc, const char* const* argv,
                                                         const std::string& version);

}  // namespace pgb::config
