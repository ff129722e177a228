#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/admin/http_guard.h"
#include "tests/fuzz/require.h"

namespace {

constexpr char kSeparator = '\n';

std::string next(std::string_view& input) {
    const std::size_t end = input.find(kSeparator);
    const std::string part(pgb::fuzz::take(input, end));
    if (!input.empty()) input.remove_prefix(1);
    return part;
}

}  // namespace

// Lines: Host, Origin, Authorization, Content-Type, and what the token's file holds. A name with a
// letter in it is ours only if it is one of three, and nothing is changed without the token.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    std::string_view input(reinterpret_cast<const char*>(data), size);
    HttpRequest request;
    request.host = next(input);
    request.host_count = 1;
    request.origin = next(input);
    request.authorization = next(input);
    request.content_type = next(input);
    const std::optional<std::string> token = token_of(input);
    if (token) require(token->size() >= kTokenBytesMin && token->size() <= kTokenBytesMax);

    const auto name = host_name(request.host);
    if (!name) require(refuse_stranger(request, "db").has_value());
    if (name) require(fuzz::is_within(*name, request.host));
    if (!refuse_stranger(request, "db")) {
        const bool named = name->find_first_of("ghijklmnopqrstuvwxyz") != std::string_view::npos;
        require(!named || *name == "db" || name->ends_with("ocalhost") || name->starts_with('[') ||
                name->find_first_of("LOCAHST") != std::string_view::npos);
    }
    if (!refuse_change(request, token)) {
        require(token.has_value() && request.authorization.ends_with(*token));
        require(request.content_type.size() >= std::string_view("application/json").size());
    }
    return 0;
}
