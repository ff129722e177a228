#include "proxy/io/login_guard.h"

#include <libpq-fe.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "protocol/cursor.h"

namespace pgb {

namespace {

constexpr std::size_t kHeader = 5;
constexpr std::uint32_t kSaslContinue = 11;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// `r=…,s=…,i=4096`: the rounds stand behind the last `,i=`; a nonce and a salt have no comma.
std::uint64_t rounds_in(std::string_view scram) {
    constexpr std::string_view kMark = ",i=";
    const std::size_t at = scram.rfind(kMark);
    if (at == std::string_view::npos) return 0;
    std::uint64_t rounds = 0;
    for (const char c : scram.substr(at + kMark.size())) {
        if (!is_digit(c) || rounds > kScramRoundsMax) break;
        rounds = rounds * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return rounds;
}

bool is_too_dear(char type, std::string_view body) {
    Cursor cursor(body);
    if (type != 'R' || cursor.u32() != kSaslContinue || cursor.failed()) return false;
    return rounds_in(cursor.remaining()) > kScramRoundsMax;
}

}  // namespace

LoginBytes judge_login_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
        Cursor cursor(bytes);
        const char type = static_cast<char>(cursor.u8());
        const std::size_t length = cursor.u32();
        if (cursor.failed()) return LoginBytes::incomplete;
        // Nonsense, and too long: libpq says so in its words.
        if (length < 4 || length > kLoginMessageMax) return LoginBytes::fine;
        if (bytes.size() < length + 1) return LoginBytes::incomplete;
        if (is_too_dear(type, bytes.substr(kHeader, length - 4))) return LoginBytes::too_dear;
        bytes.remove_prefix(length + 1);
    }
    return LoginBytes::fine;
}

LoginBytes look_at_login(pg_conn* connection) {
    std::vector<char> seen(kLoginMessageMax + kHeader);
    const int room = static_cast<int>(seen.size());
    auto* ssl = static_cast<SSL*>(PQsslStruct(connection, "OpenSSL"));
    ERR_clear_error();
    const auto count = ssl != nullptr ? static_cast<ssize_t>(SSL_peek(ssl, seen.data(), room))
                                      : recv(PQsocket(connection), seen.data(), seen.size(),
                                             MSG_PEEK | MSG_DONTWAIT);
    if (count <= 0) return LoginBytes::fine;
    const LoginBytes found = judge_login_bytes({seen.data(), static_cast<std::size_t>(count)});
    const bool may_wait = ssl == nullptr;
    return found == LoginBytes::incomplete && !may_wait ? LoginBytes::fine : found;
}

}  // namespace pgb
