#include <cstdint>
#include <string>

#include "protocol/query_tags.h"
#include "tests/fuzz/require.h"

// The first byte is the length of the key that is asked for, which follows; the rest is the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using pgb::QueryTags;
    using pgb::fuzz::require;
    if (size == 0) return 0;
    const std::string input(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::string key = input.substr(0, data[0] % 16);
    const std::string text = input.substr(key.size());
    const QueryTags tags(text);
    const auto value = tags.value(key);
    require(!tags.empty() || !value.has_value());
    if (value) {
        require(tags.has(key, *value));
        require(!tags.has(key, *value + "x"));
        require(value->size() <= QueryTags::kValueMax);
    }
    const std::string kept = pgb::tag_comments(text);
    require(kept.size() <= QueryTags::kLeadingMax + 1 + QueryTags::kTrailingMax);
    require(QueryTags(kept).value(key) == value);
    // Behind other words only what stands at the end is seen, and in the middle nothing.
    require(QueryTags("x " + text + " x", true).empty() || text.find("--") != std::string::npos);
    require(QueryTags("x " + text, false).empty());
    return 0;
}
