#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/classify.h"
#include "config/environment.h"
#include "config/network.h"
#include "config/pattern.h"
#include "config/units.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb::config;
using pgb::fuzz::require;

void check_pattern(std::string_view pattern, std::string_view text) {
    const auto compiled = Pattern::compile(pattern);
    if (const auto* fault = std::get_if<Pattern::Fault>(&compiled)) {
        require(!fault->message.empty() && fault->offset <= pattern.size());
        return;
    }
    (void)std::get<Pattern>(compiled).matches(text);
}

// A pattern without a special byte is a text that matches itself alone.
void check_glob(std::string_view pattern, std::string_view text) {
    const auto glob = Glob::compile(pattern);
    const bool special = pattern.find_first_of("*?[\\") != std::string_view::npos;
    require(glob.has_value() || special);
    if (!glob) return;
    const bool matches = glob->matches(text);
    if (!special) require(matches == (pattern == text));
    const bool stars = !pattern.empty() && pattern.find_first_not_of('*') == std::string_view::npos;
    if (stars) require(matches);
}

void check_network(std::string_view network, std::string_view address) {
    if (const auto read = Network::parse(network)) (void)read->contains(address);
    const auto v4 = read_ipv4(address);
    if (v4) require(!read_ipv6(address));
    const auto all = Network::parse("0.0.0.0/0");
    require(all.has_value());
    if (v4) require(all->contains(address));
}

// What is shown is read back as the same.
void check_units(std::string_view text) {
    const auto duration = parse_duration(text);
    if (const auto* value = std::get_if<std::uint64_t>(&duration)) {
        const auto again = parse_duration(show_duration(*value));
        require(std::holds_alternative<std::uint64_t>(again));
        require(std::get<std::uint64_t>(again) <= *value);
    }
    const auto size = parse_size(text);
    if (const auto* value = std::get_if<std::uint64_t>(&size)) {
        const auto again = parse_size(show_size(*value));
        require(std::holds_alternative<std::uint64_t>(again));
        require(std::get<std::uint64_t>(again) == *value);
    }
    (void)parse_count(text);
    (void)parse_octal(text);
}

void check_variables(std::string_view text) {
    const EnvLookup env = [](std::string_view name) {
        return name == "SET" ? std::optional<std::string>("${SET}") : std::nullopt;
    };
    const auto replaced = replace_variables(text, env);
    if (text.find('$') != std::string_view::npos) return;
    require(std::holds_alternative<std::string>(replaced));
    require(std::get<std::string>(replaced) == text);
}

}  // namespace

// The small languages inside the file's values. The first byte says which, the second divides the
// rest into a pattern and what it is held against.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    std::string_view rest(reinterpret_cast<const char*>(data + 2), size - 2);
    const std::string first(pgb::fuzz::take(rest, data[1]));
    const std::string second(rest);
    switch (data[0] % 5) {
        case 0: check_pattern(first, second); break;
        case 1: check_glob(first, second); break;
        case 2: check_network(first, second); break;
        case 3: check_units(first); break;
        default: check_variables(first); break;
    }
    return 0;
}
