#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/io/connect_trace.h"
#include "proxy/io/conninfo.h"
#include "proxy/io/login_guard.h"
#include "proxy/io/server_words.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

// libpq's text about a failed login, which holds what a server that has not proved anything said.
void check_server_words(std::string_view text) {
    const ServerWords words = read_server_words(text);
    require(words.sqlstate.empty() || words.sqlstate.size() == 5);
    require(words.message.find('\n') == std::string::npos);
    require(words.message.size() + words.detail.size() + words.hint.size() <= 2 * text.size() + 64);
}

void check_trace(std::string_view text) {
    ConnectTrace trace;
    while (!text.empty()) trace.take(fuzz::take(text, 1 + text.size() % 7));
    require(trace.key_of(1).size() == 0 || trace.key_of(1).size() == 4);
}

void check_conninfo(const std::string& text) {
    for (const std::string_view keyword : {"host", "user", "sslmode", "nonsense"}) {
        require(conninfo_value(text, keyword).size() <= text.size());
    }
}

// A message that is waited for is a beginning: with everything behind it, it may only get worse.
void check_login_bytes(std::string_view text) {
    const LoginBytes whole = judge_login_bytes(text);
    for (std::size_t cut = 0; cut < text.size() && cut < 64; ++cut) {
        if (judge_login_bytes(text.substr(0, cut)) != LoginBytes::too_dear) continue;
        require(whole == LoginBytes::too_dear);
    }
}

}  // namespace

// What is read of libpq's words and of connection strings. The first byte says which.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 4) {
        case 0: check_server_words(text); break;
        case 1: check_trace(text); break;
        case 3: check_login_bytes(text); break;
        default: check_conninfo(text); break;
    }
    return 0;
}
