#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base64.h"
#include "protocol/sasl_prep.h"
#include "protocol/scram.h"
#include "tests/fuzz/require.h"

namespace {

using pgb::fuzz::require;

const pgb::ScramVerifier& verifier() {
    static const pgb::ScramVerifier made = pgb::derive_scram_verifier("secret", "salt", 1);
    return made;
}

// Whatever was sent, nobody who does not know the password proves that he does.
void check_exchange(std::string_view first, std::string_view final,
                    const pgb::ScramBinding& bound) {
    pgb::ScramExchange exchange(bound);
    if (exchange.read_first(first)) return;
    require(first.find('\0') == std::string_view::npos);
    (void)exchange.first_reply(verifier(), "nonce");
    if (exchange.read_final(final)) return;
    require(!exchange.proves(verifier()));
    require(exchange.final_reply(verifier()).starts_with("v="));
}

void check_texts(std::string_view text) {
    if (const auto bytes = pgb::decode_base64(text)) {
        require(pgb::decode_base64(pgb::encode_base64(*bytes)) == bytes);
    }
    if (const auto parsed = pgb::parse_scram_verifier(text)) {
        require(pgb::parse_scram_verifier(pgb::format_scram_verifier(*parsed)) == parsed);
    }
    require(pgb::prepare_password(text).size() <= text.size() * 12 + 1);
}

}  // namespace

// The first line is the client's first message, the rest its final one; both also alone.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t line = input.find('\n');
    const std::string_view first = input.substr(0, line);
    const std::string_view final =
        line == std::string_view::npos ? std::string_view{} : input.substr(line + 1);
    check_exchange(first, final, {});
    check_exchange(first, final, {"digest", false});
    check_exchange(first, final, {"digest", true});
    check_exchange("n,,n=,r=a", input, {});
    check_texts(input);
    return 0;
}
