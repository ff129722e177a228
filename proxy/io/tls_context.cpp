#include "proxy/io/tls_context.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {

// PostgreSQL's own default, but for the triple DES that nobody needs any more.
constexpr const char* kCiphers = "HIGH:!aNULL:!3DES";

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* in,
                unsigned in_length, void* context) {
    const std::string& ours = static_cast<const TlsContext*>(context)->alpn();
    unsigned char* chosen = nullptr;
    const int found = SSL_select_next_proto(&chosen, out_length,
                                            reinterpret_cast<const unsigned char*>(ours.data()),
                                            static_cast<unsigned>(ours.size()), in, in_length);
    *out = chosen;
    // RFC 7301, section 3.2: no common protocol is an alert, which keeps a browser or a mail client
    // that was tricked to come here from being understood.
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Without this OpenSSL asks the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

void set_rules(ssl_ctx_st* context, const TlsFiles& files) {
    SSL_CTX_set_min_proto_version(context, files.only_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, kCiphers);
    // The protocol's own framing tells whether bytes are missing. OpenSSL would take a stream that ends
    // without a close_notify for a fault, after which nothing can be said: the answers to what such a
    // client has sent would be lost, which over plain TCP it gets.
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Passwords are among what is read.
    SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // A session that is taken up again would not show its certificate again; connections to a
    // database live long, so there is nothing to win.
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // An idle session then keeps no record buffers, which are most of its memory.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
}

Error failure(const std::string& what, const std::string& file) {
    return {what + ' ' + file + ": " + tls_error_words(), 0};
}

/// The words of an error, or nothing when all is well.
std::string read_files(ssl_ctx_st* context, const TlsFiles& files) {
    if (SSL_CTX_use_certificate_chain_file(context, files.cert.c_str()) != 1) {
        return failure("cannot use the certificate", files.cert).message;
    }
    if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return failure("cannot use the private key", files.key).message;
    }
    if (files.client_ca.empty()) return {};
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return failure("cannot use the client authorities", files.client_ca).message;
    }
    SSL_CTX_set_client_CA_list(context, names);
    const int demanded = files.demands_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE | demanded, nullptr);
    return {};
}

/// RFC 5929, section 4.1: the hash of the certificate's signature algorithm, SHA-256 in place of MD5
/// and SHA-1.
std::string end_point_hash_of(X509* certificate) {
    int digest_id = NID_undef;
    if (X509_get_signature_info(certificate, &digest_id, nullptr, nullptr, nullptr) != 1) return {};
    if (digest_id == NID_md5 || digest_id == NID_sha1) digest_id = NID_sha256;
    const EVP_MD* digest = digest_id == NID_undef ? nullptr : EVP_get_digestbynid(digest_id);
    if (digest == nullptr) return {};
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
    unsigned length = 0;
    if (X509_digest(certificate, digest, hash.data(), &length) != 1) return {};
    return {reinterpret_cast<const char*>(hash.data()), length};
}

std::string text_of(BIO* memory) {
    char* data = nullptr;
    const long length = BIO_get_mem_data(memory, &data);
    return length > 0 ? std::string(data, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

std::string tls_error_words() {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    if (error == 0) return "unknown reason";
    // Since version 3 an errno has no words of OpenSSL's own.
    if (ERR_SYSTEM_ERROR(error)) return std::strerror(ERR_GET_REASON(error));
    const char* words = ERR_reason_error_string(error);
    return words != nullptr ? words : "OpenSSL error " + std::to_string(error);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsFiles& files) {
    ERR_clear_error();
    auto context = std::make_shared<TlsContext>(SSL_CTX_new(TLS_server_method()), files.protocol);
    if (context->raw() == nullptr) return Error{"no TLS: " + tls_error_words(), 0};
    set_rules(context->raw(), files);
    SSL_CTX_set_alpn_select_cb(context->raw(), choose_alpn, context.get());
    if (std::string words = read_files(context->raw(), files); !words.empty()) {
        return Error{std::move(words), 0};
    }
    context->describe_certificate();
    return std::shared_ptr<const TlsContext>(std::move(context));
}

TlsContext::TlsContext(ssl_ctx_st* context, const std::string& protocol)
    : context_(context), alpn_(static_cast<char>(protocol.size()) + protocol) {}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

void TlsContext::describe_certificate() {
    X509* certificate = SSL_CTX_get0_certificate(context_);
    PGB_CHECK(certificate != nullptr);
    end_point_hash_ = end_point_hash_of(certificate);
    BIO* words = BIO_new(BIO_s_mem());
    X509_NAME_print_ex(words, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    subject_ = text_of(words);
    (void)BIO_reset(words);
    ASN1_TIME_print_ex(words, X509_get0_notAfter(certificate), ASN1_DTFLGS_ISO8601);
    expiry_ = text_of(words);
    BIO_free(words);
    ERR_clear_error();
}

}  // namespace pgb
