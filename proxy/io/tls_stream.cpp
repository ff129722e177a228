#include "proxy/io/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {

constexpr std::size_t kHeaderSize = 5;
// TLS 1.2's bound, the larger of the two (RFC 5246, section 6.2.3).
constexpr std::size_t kRecordBytesMax = (std::size_t{1} << 14) + 2048;
// change_cipher_spec to application_data.
constexpr unsigned char kFirstType = 20;
constexpr unsigned char kLastType = 23;

}  // namespace

/// What the SSL reads from and writes to: bytes that were brought, then the descriptor.
struct TlsStream::Wire {
    std::string in;
    std::string out;
    std::size_t in_at = 0;
    std::size_t in_end = 0;    // up to here it may be read: whole records, or all once attached
    std::size_t received = 0;  // in all, before attach()
    int fd = -1;
    bool at_end = false;

    void feed(std::string_view bytes) {
        in.erase(0, in_at);
        in_at = 0;
        in += bytes;
        received += bytes.size();
        in_end = whole_records();
    }
    /// How many bytes of `in` are whole records; all of it when it is no TLS.
    [[nodiscard]] std::size_t whole_records() const {
        std::size_t at = 0;
        while (in.size() - at >= kHeaderSize) {
            const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(in[at + i]); };
            const std::size_t length = std::size_t{byte(3)} << 8 | byte(4);
            const bool is_record =
                byte(0) >= kFirstType && byte(0) <= kLastType && length <= kRecordBytesMax;
            if (!is_record) return in.size();
            if (in.size() - at < kHeaderSize + length) break;
            at += kHeaderSize + length;
        }
        return at;
    }
    [[nodiscard]] bool has_unread() const { return in_at < in_end; }

    int read(bio_st* bio, std::span<char> into) {
        BIO_clear_retry_flags(bio);
        if (has_unread()) {
            const std::size_t count = std::min(into.size(), in_end - in_at);
            std::memcpy(into.data(), in.data() + in_at, count);
            in_at += count;
            if (fd >= 0 && !has_unread()) std::string().swap(in), in_at = in_end = 0;
            return static_cast<int>(count);
        }
        const ReadResult result =
            fd >= 0 ? read_fd(fd, into) : ReadResult{IoStatus::would_block, 0, EAGAIN};
        return told(bio, result, BIO_FLAGS_READ);
    }
    int write(bio_st* bio, std::string_view bytes) {
        BIO_clear_retry_flags(bio);
        if (fd < 0) {
            out += bytes;
            return static_cast<int>(bytes.size());
        }
        return told(bio, write_fd(fd, {&bytes, 1}), BIO_FLAGS_WRITE);
    }
    int told(bio_st* bio, const ReadResult& result, int direction) {
        switch (result.status) {
            case IoStatus::bytes: return static_cast<int>(result.count);
            case IoStatus::would_block:
                BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
                return -1;
            case IoStatus::eof: at_end = true; return 0;
            case IoStatus::error: errno = result.error; return -1;
        }
        return -1;
    }
};

namespace {

template <typename Wire>
Wire& wire_of(BIO* bio) {
    return *static_cast<Wire*>(BIO_get_data(bio));
}

template <typename Wire>
BIO_METHOD* make_method() {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pgbulkhead");
    PGB_CHECK(method != nullptr);
    BIO_meth_set_read(method, [](BIO* bio, char* into, int size) {
        return wire_of<Wire>(bio).read(bio, {into, static_cast<std::size_t>(size)});
    });
    BIO_meth_set_write(method, [](BIO* bio, const char* bytes, int size) {
        return wire_of<Wire>(bio).write(bio, {bytes, static_cast<std::size_t>(size)});
    });
    BIO_meth_set_ctrl(method, [](BIO* bio, int command, long, void*) -> long {
        if (command == BIO_CTRL_EOF) return wire_of<Wire>(bio).at_end ? 1 : 0;
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    });
    BIO_meth_set_create(method, [](BIO* bio) {
        BIO_set_init(bio, 1);
        return 1;
    });
    return method;
}

/// Bytes that stand for nothing else: a NUL would cut them where somebody reads them as C does.
std::string bytes_of(const ASN1_STRING* string) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
            static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::string common_name_of(X509_NAME* subject) {
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return {};
    return bytes_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::string distinguished_name_of(X509_NAME* subject) {
    BIO* words = BIO_new(BIO_s_mem());
    X509_NAME_print_ex(words, subject, 0, XN_FLAG_RFC2253);
    char* data = nullptr;
    const long length = BIO_get_mem_data(words, &data);
    std::string name(data, static_cast<std::size_t>(std::max(length, 0L)));
    BIO_free(words);
    return name;
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)),
      wire_(std::make_unique<Wire>()),
      ssl_(SSL_new(context_->raw())) {
    static BIO_METHOD* const kMethod = make_method<Wire>();
    PGB_CHECK(ssl_ != nullptr);
    BIO* bio = BIO_new(kMethod);
    PGB_CHECK(bio != nullptr);
    BIO_set_data(bio, wire_.get());
    SSL_set_bio(ssl_, bio, bio);
    SSL_set_accept_state(ssl_);
}

TlsStream::~TlsStream() { SSL_free(ssl_); }

void TlsStream::feed(std::string_view bytes) { wire_->feed(bytes); }

bool TlsStream::has_work() const { return wire_->has_unread() || wire_->received > kHandshakeMax; }

std::string& TlsStream::output() { return wire_->out; }

HandshakeStep TlsStream::fail(std::string words) {
    error_ = std::move(words);
    is_broken_ = true;
    ERR_clear_error();
    return HandshakeStep::failed;
}

HandshakeStep TlsStream::advance() {
    PGB_CHECK(has_work() && wire_->fd < 0);
    if (wire_->received > kHandshakeMax) return fail("the handshake is too long");
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(ssl_);
    if (result != 1) {
        if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) return HandshakeStep::more;
        const long verified = SSL_get_verify_result(ssl_);
        if (verified != X509_V_OK) {
            return fail(std::string("client certificate: ") +
                        X509_verify_cert_error_string(verified));
        }
        return fail(tls_error_words());
    }
    // Names are compared and written as C strings by too many.
    const TlsPeer shown = peer();
    if (shown.common_name.find('\0') != std::string::npos) {
        return fail("client certificate: its common name holds a NUL");
    }
    return HandshakeStep::done;
}

bool TlsStream::has_alpn() const {
    const unsigned char* name = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(ssl_, &name, &length);
    return length > 0;
}

void TlsStream::attach(int fd) {
    PGB_CHECK(SSL_is_init_finished(ssl_) != 0 && wire_->out.empty() && !is_broken_);
    std::string().swap(wire_->out);
    wire_->in_end = wire_->in.size();
    wire_->fd = fd;
    // One system call brings the header of a record and the rest, and often the next.
    SSL_set_read_ahead(ssl_, 1);
    has_pending_ = wire_->has_unread() || SSL_has_pending(ssl_) != 0;
}

ReadResult TlsStream::read(std::span<char> into) {
    PGB_CHECK(wire_->fd >= 0);
    has_pending_ = false;
    if (held_error_ != 0) return {IoStatus::error, 0, std::exchange(held_error_, 0)};
    if (is_broken_) return {IoStatus::error, 0, EPROTO};
    const ReadResult result = read_records(into);
    if (result.status == IoStatus::would_block && SSL_want_write(ssl_)) {
        is_broken_ = true;
        return {IoStatus::error, 0, EPROTO};
    }
    return result;
}

// As far as the span and what is here already reach, and no system call more than that needs.
ReadResult TlsStream::read_records(std::span<char> into) {
    std::size_t total = 0;
    while (total < into.size()) {
        const ReadResult read = tls_read(ssl_, into.subspan(total));
        if (read.status != IoStatus::bytes) {
            if (read.status == IoStatus::error) is_broken_ = true;
            if (total == 0) return read;
            if (read.status == IoStatus::error) held_error_ = read.error;
            // The end is found again at the next read.
            has_pending_ = read.status != IoStatus::would_block;
            return {IoStatus::bytes, total};
        }
        total += read.count;
        const bool more_here = SSL_has_pending(ssl_) != 0 || wire_->has_unread();
        if (!more_here) return {IoStatus::bytes, total};
    }
    has_pending_ = true;
    return {IoStatus::bytes, total};
}

WriteResult TlsStream::write(std::span<const std::string_view> segments) {
    PGB_CHECK(wire_->fd >= 0);
    if (is_broken_) return {IoStatus::error, 0, EPIPE};
    const WriteResult result = writer_.write(ssl_, segments);
    const bool waits_for_client = result.status == IoStatus::would_block && SSL_want_read(ssl_);
    if (waits_for_client || result.status == IoStatus::error) is_broken_ = true;
    return waits_for_client ? WriteResult{IoStatus::error, 0, EPROTO} : result;
}

void TlsStream::say_end() {
    // A record that is on its way in part can't be followed by anything else.
    if (end_said_ || is_broken_ || wire_->fd < 0 || writer_.is_midway()) return;
    end_said_ = true;
    (void)SSL_shutdown(ssl_);
    ERR_clear_error();
}

TlsPeer TlsStream::peer() const {
    TlsPeer peer;
    X509* certificate = SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr || SSL_get_verify_result(ssl_) != X509_V_OK) return peer;
    peer.is_verified = true;
    peer.common_name = common_name_of(X509_get_subject_name(certificate));
    peer.distinguished_name = distinguished_name_of(X509_get_subject_name(certificate));
    return peer;
}

std::string_view TlsStream::version() const { return SSL_get_version(ssl_); }

std::string_view TlsStream::cipher() const { return SSL_get_cipher_name(ssl_); }

}  // namespace pgb
