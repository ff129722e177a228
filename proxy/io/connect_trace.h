#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

struct pg_conn;

namespace pgb {

/// Listens to libpq's protocol trace during a login for the one thing that libpq 15 shows nowhere
/// else: the cancel key. Everything else in the trace, passwords among it, is overwritten line by
/// line and never kept.
class ConnectTrace {
public:
    ConnectTrace() = default;
    ~ConnectTrace();
    ConnectTrace(const ConnectTrace&) = delete;
    ConnectTrace& operator=(const ConnectTrace&) = delete;

    /// Must be detached before the trace dies; does nothing when the stream can't be made.
    void attach(pg_conn* connection);
    void detach(pg_conn* connection);

    /// The 4 key bytes of the BackendKeyData that was seen for `pid`; empty if there was none or
    /// this libpq writes it in another way.
    [[nodiscard]] std::string key_of(std::uint32_t pid) const;

    /// One piece of the trace; public for the test.
    void take(std::string_view text);

private:
    void end_line();

    FILE* stream_ = nullptr;
    std::string line_;
    bool line_too_long_ = false;
    bool has_key_ = false;
    std::uint32_t pid_ = 0;
    std::uint32_t key_ = 0;
};

}  // namespace pgb
