#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/bound_value.h"
#include "protocol/request.h"
#include "tests/fuzz/require.h"

// A parameter of a Bind lies in its body, and a body that the other reader calls broken has none
// that begins behind its end. Two bytes say which parameter.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    if (size < 2) return 0;
    const unsigned asked = data[0] * 256U + data[1];
    const std::string body(reinterpret_cast<const char*>(data + 2), size - 2);
    for (const unsigned number : {0U, 1U, 2U, 3U, asked, 65535U, 65536U}) {
        const auto value = bound_value(body, number);
        if (!value) continue;
        require(number > 0 && number < 65536);
        require(fuzz::is_within(value->bytes, body));
        require(!value->is_null || value->bytes.empty());
    }
    const BindRequest bind = parse_bind(body, true);
    require(fuzz::is_within(bind.statement, body));
    return 0;
}
