#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/request.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::is_within;
using fuzz::require;

// A well-formed message is, cut anywhere, truncated and not faulty.
template <typename Parse>
void check(Parse parse, std::string_view body, std::size_t cut) {
    const auto whole = parse(body, true);
    require(!whole.truncated);
    const std::string beginning(body.substr(0, cut));
    const auto early = parse(beginning, false);
    require(!(early.truncated && !early.well_formed()));
    if (whole.well_formed()) require(early.truncated);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const std::string body(reinterpret_cast<const char*>(data + 3), size - 3);
    const std::size_t cut = (data[1] * 256U + data[2]) % (body.size() + 1);
    switch (data[0] % 6) {
        case 0:
            check(parse_query, body, cut);
            require(is_within(parse_query(body, true).text, body));
            break;
        case 1:
            check(parse_parse, body, cut);
            require(is_within(parse_parse(body, true).text, body));
            break;
        case 2:
            check(parse_bind, body, cut);
            require(is_within(parse_bind(body, true).statement, body));
            break;
        case 3: check(parse_describe, body, cut); break;
        case 4: check(parse_close, body, cut); break;
        default: check(parse_execute, body, cut); break;
    }
    return 0;
}
