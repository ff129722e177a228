#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/session/authentication.h"
#include "tests/fuzz/require.h"

namespace {

using pgb::Authentication;
using pgb::AuthenticationKind;
using pgb::AuthenticationStep;

using pgb::fuzz::require;

struct Outcome {
    AuthenticationStep step = AuthenticationStep::need_more;
    std::string reply;
    std::string password;
    bool operator==(const Outcome&) const = default;
};

// Feeds the bytes in pieces of `piece`, as a connection does.
Outcome outcome(AuthenticationKind kind, std::string_view bytes, std::size_t piece) {
    Authentication machine(kind, "user", "", "eighteen bytes....");
    Outcome result;
    std::string input;
    machine.begin(result.reply);
    while (!bytes.empty() && result.step == AuthenticationStep::need_more) {
        input += bytes.substr(0, piece);
        bytes.remove_prefix(std::min(piece, bytes.size()));
        std::size_t consumed = 0;
        do {
            result.step = machine.on_bytes(input, consumed, result.reply);
            require(consumed <= input.size());
            input.erase(0, consumed);
            if (result.step != AuthenticationStep::verifier) continue;
            machine.on_verifier(pgb::mock_scram_verifier("secret", "user"), false, result.reply);
            result.step = AuthenticationStep::need_more;
        } while (result.step == AuthenticationStep::need_more && consumed > 0);
    }
    require(result.step != AuthenticationStep::accepted);
    result.password = machine.password().text();
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    for (const AuthenticationKind kind :
         {AuthenticationKind::scram, AuthenticationKind::password}) {
        const Outcome whole = outcome(kind, input, size + 1);
        require(whole == outcome(kind, input, 1));
        require(whole == outcome(kind, input, 7));
    }
    return 0;
}
