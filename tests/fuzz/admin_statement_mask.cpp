#include <cstdint>
#include <string>

#include "proxy/admin/statement_mask.h"
#include "tests/fuzz/require.h"

// What people are shown has no literal: neither its quotes nor, where the text has a secret behind
// one, the secret. The first byte says whether the text is whole.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using pgb::mask_statement;
    using pgb::fuzz::require;
    if (size == 0) return 0;
    const bool whole = data[0] % 2 == 0;
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::string shown = mask_statement(text, whole);
    // A blank between any two, and what a cut adds.
    require(shown.size() <= 2 * text.size() + 8);
    if (text.find('"') == std::string::npos) require(shown.find('\'') == std::string::npos);
    if (!whole) require(shown.ends_with("..."));

    const std::string secret = "kaeWoo7ThieS";
    // As a name it would be shown.
    if (text.find(secret) != std::string::npos) return 0;
    const std::string changes = "alter role x password '" + secret + "'" + text;
    require(mask_statement(changes, whole).find(secret) == std::string::npos);
    const std::string reads = "select '" + secret + "' " + text;
    require(mask_statement(reads, whole).find(secret) == std::string::npos);
    return 0;
}
