#pragma once

#include <memory>
#include <string>

#include "proxy/base/result.h"

struct ssl_ctx_st;

namespace pgb {

/// What a TLS server shows and demands: paths of PEM files.
struct TlsFiles {
    std::string cert;       ///< The chain, our own certificate first.
    std::string key;        ///< Its private key, without a passphrase.
    std::string client_ca;  ///< Empty: no client is asked for a certificate.
    bool only_tls13 = false;
    /// Whether who shows none is refused, too.
    bool demands_certificate = false;
    /// The protocol's name in ALPN.
    std::string protocol = "postgresql";
};

/// The server side of TLS for one door, as its files were when it was loaded. Never changes: new
/// files make a new context for those who come next, and whoever has this one keeps it. May be used
/// by several threads at once.
///
/// TLS 1.2 or later, no compression, no renegotiation, no session tickets and no session cache, as
/// PostgreSQL has it. ALPN: a client that names protocols must name ours among them; one that names
/// none is judged by who asks (TlsStream::has_alpn). A client's certificate is refused unless an
/// authority of `client_ca` has signed it; unless it is demanded, who must have one is for the
/// authentication to say.
class TlsContext {
public:
    /// Reads and judges the files. The error names the file, and never holds anything of a key.
    static Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);
    TlsContext(ssl_ctx_st* context, const std::string& protocol);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    [[nodiscard]] ssl_ctx_st* raw() const { return context_; }
    /// The one protocol that is spoken, as ALPN writes it: with its length in front.
    [[nodiscard]] const std::string& alpn() const { return alpn_; }
    /// The channel binding `tls-server-end-point` (RFC 5929, section 4): a hash of our certificate.
    /// Empty for signature algorithms that have no hash of their own (Ed25519), where the binding is
    /// not defined: no channel can be bound then.
    [[nodiscard]] const std::string& end_point_hash() const { return end_point_hash_; }
    /// Whose certificate it is and until when it is good, for the log.
    [[nodiscard]] const std::string& subject() const { return subject_; }
    [[nodiscard]] const std::string& expiry() const { return expiry_; }

private:
    void describe_certificate();

    ssl_ctx_st* context_;
    std::string alpn_;
    std::string end_point_hash_;
    std::string subject_;
    std::string expiry_;
};

/// The last error of OpenSSL's on this thread in words; forgets it and all others.
[[nodiscard]] std::string tls_error_words();

}  // namespace pgb
