#include "protocol/sasl_prep.h"

#include <stringprep.h>

#include <algorithm>

namespace pgb {

namespace {

// The longest that normalisation makes of one byte of UTF-8: U+FDFA has three bytes and becomes 33.
constexpr std::size_t kGrowthMax = 12;

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::string prepare_password(std::string_view password) {
    std::string as_it_stands(password);
    if (is_ascii(password) || password.find('\0') != std::string_view::npos) return as_it_stands;
    std::string prepared = as_it_stands;
    prepared.resize(password.size() * kGrowthMax + 1, '\0');
    // Refuses what is not UTF-8, too.
    const int result =
        stringprep(prepared.data(), prepared.size(), STRINGPREP_NO_UNASSIGNED, stringprep_saslprep);
    if (result != STRINGPREP_OK) return as_it_stands;
    prepared.resize(prepared.find('\0'));
    // Nothing would be left of it: PostgreSQL takes that for not allowed.
    return prepared.empty() ? as_it_stands : prepared;
}

}  // namespace pgb
