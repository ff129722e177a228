#include "proxy/io/connect_trace.h"

#include <libpq-fe.h>
#include <openssl/crypto.h>
#include <sys/types.h>

#include <charconv>

namespace pgb {

namespace {

// A BackendKeyData line has about 40 bytes; longer lines are others.
constexpr std::size_t kLineMax = 128;

/// Reads a decimal number as the trace prints it: the 32 bits as a signed integer.
bool take_number(std::string_view* text, std::uint32_t* value) {
    while (!text->empty() && (text->front() == ' ' || text->front() == '\t')) {
        text->remove_prefix(1);
    }
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc{}) return false;
    text->remove_prefix(static_cast<std::size_t>(end - text->data()));
    *value = static_cast<std::uint32_t>(number);
    return true;
}

ssize_t write_to_trace(void* cookie, const char* text, size_t size) {
    static_cast<ConnectTrace*>(cookie)->take({text, size});
    return static_cast<ssize_t>(size);
}

}  // namespace

ConnectTrace::~ConnectTrace() { OPENSSL_cleanse(line_.data(), line_.capacity()); }

void ConnectTrace::attach(pg_conn* connection) {
    cookie_io_functions_t functions{};
    functions.write = write_to_trace;
    stream_ = fopencookie(this, "w", functions);
    if (stream_ == nullptr) return;
    // No buffer of stdio's, which would keep what the trace shows after it is freed.
    (void)std::setvbuf(stream_, nullptr, _IONBF, 0);
    line_.reserve(kLineMax);
    PQtrace(connection, stream_);
    PQsetTraceFlags(connection, PQTRACE_SUPPRESS_TIMESTAMPS);
}

void ConnectTrace::detach(pg_conn* connection) {
    if (stream_ == nullptr) return;
    PQuntrace(connection);
    (void)std::fclose(stream_);
    stream_ = nullptr;
}

void ConnectTrace::take(std::string_view text) {
    for (const char c : text) {
        if (c == '\n') {
            end_line();
        } else if (line_.size() < kLineMax) {
            line_ += c;
        } else {
            line_too_long_ = true;
        }
    }
}

void ConnectTrace::end_line() {
    // "B", length and name, separated by tabs; then the values.
    std::string_view rest = line_;
    std::uint32_t length = 0;
    std::uint32_t pid = 0;
    std::uint32_t key = 0;
    bool is_key = !line_too_long_ && rest.starts_with("B\t");
    if (is_key) {
        rest.remove_prefix(2);
        is_key =
            take_number(&rest, &length) && length == 12 && rest.starts_with("\tBackendKeyData\t");
    }
    if (is_key) {
        rest.remove_prefix(std::string_view("\tBackendKeyData\t").size());
        is_key = take_number(&rest, &pid) && take_number(&rest, &key) && rest.empty();
    }
    if (is_key) {
        has_key_ = true;
        pid_ = pid;
        key_ = key;
    }
    OPENSSL_cleanse(line_.data(), line_.size());
    line_.clear();
    line_too_long_ = false;
}

std::string ConnectTrace::key_of(std::uint32_t pid) const {
    if (!has_key_ || pid_ != pid || pid == 0) return {};
    std::string bytes(4, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(static_cast<unsigned char>(key_ >> (24 - 8 * i)));
    }
    return bytes;
}

}  // namespace pgb
