#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/error_response.h"
#include "proxy/session/login.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

struct Outcome {
    LoginStep step = LoginStep::need_more;
    std::string reply;
    std::string user;
    std::string database;
    std::size_t parameter_count = 0;

    bool operator==(const Outcome&) const = default;
};

// What a connection does: bytes come in pieces of `step`, and what is not consumed is kept.
Outcome log_in(std::string_view bytes, std::size_t step) {
    Login login;
    Outcome outcome;
    std::string kept;
    while (outcome.step == LoginStep::need_more && !bytes.empty()) {
        kept += fuzz::take(bytes, step);
        std::size_t consumed = 1;
        while (outcome.step == LoginStep::need_more && consumed > 0) {
            consumed = 0;
            outcome.step = login.on_bytes(kept, consumed, outcome.reply);
            require(consumed <= kept.size());
            kept.erase(0, consumed);
        }
    }
    outcome.user = login.request().user;
    outcome.database = login.request().database;
    outcome.parameter_count = login.request().parameters.size();
    return outcome;
}

}  // namespace

// Any bytes end in a login, a cancel, a refusal or a wait for more; and one that comes in single
// bytes has the same name as one that comes whole. Bytes behind a request for encryption are the
// exception: there it matters that nobody could have sent them yet.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Outcome whole = log_in(bytes, size);
    const Outcome slow = log_in(bytes, 1);
    if (whole.step == LoginStep::startup) {
        require(!whole.user.empty() && !whole.database.empty());
        require(slow == whole);
    }
    require(slow.reply.size() < 4096 + 2 * size);
    return 0;
}
