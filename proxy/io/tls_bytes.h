#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "proxy/io/socket.h"

struct ssl_st;

namespace pgb {

/// One SSL_read: a record at most. `would_block` whatever OpenSSL waits for; `eof` for a close_notify
/// and for a stream that ends without one, as the protocol's own framing tells whether bytes miss;
/// `error` with EPROTO for an alert or a record that is none.
[[nodiscard]] ReadResult tls_read(ssl_st* ssl, std::span<char> into);

/// Writes segments as records, over an SSL with partial writes and moving buffers enabled.
///
/// A record that OpenSSL could not get rid of must be offered again: what write() did not take is to
/// come first and unchanged in the next call. It is checked that it is not shorter.
class TlsWriter {
public:
    static constexpr std::size_t kLongestRecord = 16384;

    /// `record_max`: at most kLongestRecord.
    explicit TlsWriter(std::size_t record_max) : record_max_(record_max) {}

    [[nodiscard]] WriteResult write(ssl_st* ssl, std::span<const std::string_view> segments);
    /// A record is on its way only in part.
    [[nodiscard]] bool is_midway() const { return retry_size_ > 0; }

private:
    std::size_t record_max_;
    /// OpenSSL wants a write it did not finish to be repeated with at least as many bytes.
    std::size_t retry_size_ = 0;
};

}  // namespace pgb
