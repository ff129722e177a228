#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/error_response.h"
#include "protocol/ready_for_query.h"
#include "tests/fuzz/require.h"

// What was read and written again reads the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    const std::string body(reinterpret_cast<const char*>(data), size);
    const auto status = parse_ready_for_query(body);
    if (status) require(body == std::string(1, static_cast<char>(*status)));
    const auto fields = parse_error(body);
    if (!fields) return 0;
    std::string first;
    append_error(first, *fields);
    const auto again = parse_error(std::string_view(first).substr(5));
    require(again.has_value());
    require(is_fatal(*again) == is_fatal(*fields));
    std::string second;
    append_error(second, *again);
    require(first == second);
    return 0;
}
