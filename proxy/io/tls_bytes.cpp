#include "proxy/io/tls_bytes.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proxy/base/check.h"

namespace pgb {

namespace {

/// What a failed SSL_read or SSL_write means.
ReadResult tls_failure(ssl_st* ssl, int returned, int error_number) {
    switch (SSL_get_error(ssl, returned)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return {IoStatus::would_block};
        case SSL_ERROR_ZERO_RETURN: return {IoStatus::eof};
        case SSL_ERROR_SYSCALL:
            if (error_number == 0) return {IoStatus::eof};
            return {IoStatus::error, 0, error_number};
        default: break;
    }
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        return {IoStatus::eof};
    }
    return {IoStatus::error, 0, EPROTO};
}

/// A cursor over segments that copies up to a record's worth of bytes together.
class Gatherer {
public:
    explicit Gatherer(std::span<const std::string_view> segments) : segments_(segments) {}

    std::size_t copy(std::span<char> into) {
        std::size_t count = 0;
        while (count < into.size() && !segments_.empty()) {
            const std::string_view rest = segments_.front().substr(offset_);
            const std::size_t size = std::min(rest.size(), into.size() - count);
            std::memcpy(into.data() + count, rest.data(), size);
            count += size;
            offset_ += size;
            if (size == rest.size()) {
                segments_ = segments_.subspan(1);
                offset_ = 0;
            }
        }
        return count;
    }

private:
    std::span<const std::string_view> segments_;
    std::size_t offset_ = 0;
};

}  // namespace

ReadResult tls_read(ssl_st* ssl, std::span<char> into) {
    PGB_CHECK(!into.empty());
    ERR_clear_error();
    errno = 0;
    const std::size_t size = std::min(into.size(), TlsWriter::kLongestRecord);
    const int count = SSL_read(ssl, into.data(), static_cast<int>(size));
    if (count <= 0) return tls_failure(ssl, count, errno);
    return {IoStatus::bytes, static_cast<std::size_t>(count)};
}

WriteResult TlsWriter::write(ssl_st* ssl, std::span<const std::string_view> segments) {
    char record[kLongestRecord];
    std::size_t total = 0;
    Gatherer rest(segments);
    while (const std::size_t size = rest.copy({record, record_max_})) {
        // OpenSSL repeats an unfinished record and refuses to be given less than it has taken.
        PGB_CHECK(size >= retry_size_);
        ERR_clear_error();
        errno = 0;
        const int count = SSL_write(ssl, record, static_cast<int>(size));
        if (count <= 0) {
            const WriteResult failure = tls_failure(ssl, count, errno);
            if (failure.status == IoStatus::would_block) retry_size_ = std::max(retry_size_, size);
            if (total > 0) return {IoStatus::bytes, total};
            return failure.status == IoStatus::eof ? WriteResult{IoStatus::error, 0, EPIPE}
                                                   : failure;
        }
        retry_size_ = 0;
        total += static_cast<std::size_t>(count);
        // A repeated record was shorter than what was offered: the gathered bytes behind it start
        // somewhere else now, so the caller offers them again.
        if (static_cast<std::size_t>(count) < size) break;
    }
    return total > 0 ? WriteResult{IoStatus::bytes, total} : WriteResult{IoStatus::would_block};
}

}  // namespace pgb
