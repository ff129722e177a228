#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "proxy/io/tls_context.h"
#include "tests/support/catch.h"

namespace pgb {

/// Certificates of a test's own, in files that go with it. Nothing of them outlives the test.
class CertificateFolder {
public:
    CertificateFolder() {
        char name[] = "/tmp/pgbulkhead-tls-XXXXXX";
        REQUIRE(mkdtemp(name) != nullptr);
        folder_ = name;
    }
    ~CertificateFolder() { std::filesystem::remove_all(folder_); }
    CertificateFolder(const CertificateFolder&) = delete;
    CertificateFolder& operator=(const CertificateFolder&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const { return folder_ + '/' + name; }

    /// Writes NAME.crt and NAME.key, signed by itself with the digest; null: the algorithm's own.
    void make(const std::string& name, const std::string& common_name,
              const EVP_MD* digest = EVP_sha256(), const char* algorithm = "EC") {
        EVP_PKEY* key = std::string_view(algorithm) == "EC"
                            ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                            : EVP_PKEY_Q_keygen(nullptr, nullptr, algorithm);
        REQUIRE(key != nullptr);
        X509* certificate = X509_new();
        X509_set_version(certificate, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial_);
        X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
        X509_set_pubkey(certificate, key);
        X509_NAME* subject = X509_get_subject_name(certificate);
        add(subject, "O", "Test, Inc.");
        add(subject, "CN", common_name);
        X509_set_issuer_name(certificate, subject);
        REQUIRE(X509_sign(certificate, key, digest) > 0);
        write(name + ".crt", [&](FILE* to) { return PEM_write_X509(to, certificate); });
        write(name + ".key", [&](FILE* to) {
            return PEM_write_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
        });
        write(name + ".locked.key", [&](FILE* to) {
            char phrase[] = "secret";
            return PEM_write_PrivateKey(to, key, EVP_aes_128_cbc(), nullptr, 0, nullptr, phrase);
        });
        X509_free(certificate);
        EVP_PKEY_free(key);
    }

    [[nodiscard]] TlsFiles files(const std::string& name) const {
        return {.cert = file(name + ".crt"), .key = file(name + ".key"), .client_ca = {}};
    }

private:
    static void add(X509_NAME* name, const char* field, const std::string& value) {
        REQUIRE(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                           reinterpret_cast<const unsigned char*>(value.data()),
                                           static_cast<int>(value.size()), -1, 0) == 1);
    }
    template <typename Write>
    void write(const std::string& name, Write write_to) const {
        FILE* to = std::fopen(file(name).c_str(), "w");
        REQUIRE(to != nullptr);
        CHECK(write_to(to) == 1);
        std::fclose(to);
    }

    std::string folder_;
    long serial_ = 0;
};

/// Loopback is quick, but not at once on a busy machine. False: nothing came, the test is broken.
inline bool wait_readable(int fd, int milliseconds = 10000) {
    pollfd ready{fd, POLLIN, 0};
    return poll(&ready, 1, milliseconds) > 0;
}

/// A client of OpenSSL's own over a descriptor, which it closes.
class TlsClient {
public:
    struct Wishes {
        int version = TLS1_3_VERSION;
        std::string alpn;  ///< with its length in front
        std::string cert;
        std::string key;
    };

    TlsClient(int fd, const Wishes& wishes) : context_(SSL_CTX_new(TLS_client_method())), fd_(fd) {
        SSL_CTX_set_max_proto_version(context_, wishes.version);
        if (!wishes.cert.empty()) {
            REQUIRE(SSL_CTX_use_certificate_file(context_, wishes.cert.c_str(), SSL_FILETYPE_PEM) ==
                    1);
            REQUIRE(SSL_CTX_use_PrivateKey_file(context_, wishes.key.c_str(), SSL_FILETYPE_PEM) ==
                    1);
        }
        ssl_ = SSL_new(context_);
        if (!wishes.alpn.empty()) {
            SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(wishes.alpn.data()),
                                static_cast<unsigned>(wishes.alpn.size()));
        }
        SSL_set_fd(ssl_, fd);
        SSL_set_connect_state(ssl_);
        SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    ~TlsClient() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
        if (fd_ >= 0) close(fd_);
    }
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    [[nodiscard]] SSL* ssl() const { return ssl_; }
    /// One step; true when it is through.
    bool shake() {
        ERR_clear_error();
        const int result = SSL_do_handshake(ssl_);
        if (result == 1) return true;
        const int why = SSL_get_error(ssl_, result);
        failed_ = why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE;
        if (failed_) alert_ = tls_error_words();
        return false;
    }
    [[nodiscard]] bool has_failed() const { return failed_; }
    [[nodiscard]] const std::string& alert() const { return alert_; }
    /// How many bytes went, or 0.
    std::size_t write(std::string_view bytes) {
        ERR_clear_error();
        const int count = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
        return count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    /// Appends what there is, waiting for it until `to` has so many bytes; false: the stream has
    /// ended, with or without its close_notify.
    bool read(std::string& to, std::size_t wanted = 0) {
        for (;;) {
            char buffer[20000];
            ERR_clear_error();
            const int count = SSL_read(ssl_, buffer, sizeof buffer);
            if (count <= 0) {
                why_ = SSL_get_error(ssl_, count);
                if (why_ == SSL_ERROR_SSL) alert_ = tls_error_words();
                if (why_ != SSL_ERROR_WANT_READ && why_ != SSL_ERROR_WANT_WRITE) return false;
                if (to.size() >= wanted || !wait_readable(fd_)) return true;
                continue;
            }
            longest_ = std::max(longest_, count);
            to.append(buffer, static_cast<std::size_t>(count));
        }
    }
    [[nodiscard]] bool ended_by_close_notify() const { return why_ == SSL_ERROR_ZERO_RETURN; }
    /// The longest record that came.
    [[nodiscard]] int longest() const { return longest_; }

private:
    SSL_CTX* context_;
    SSL* ssl_ = nullptr;
    int fd_;
    int why_ = 0;
    int longest_ = 0;
    bool failed_ = false;
    std::string alert_;
};

}  // namespace pgb
