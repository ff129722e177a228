#include "proxy/io/tls_context.h"

#include <openssl/sha.h>

#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/io/tls_bench.h"

using namespace pgb;

namespace {

std::string words_of(const TlsFiles& files) {
    const auto loaded = TlsContext::load(files);
    return loaded ? "" : loaded.error().message;
}

std::string digest_of(const std::string& file, const EVP_MD* digest) {
    FILE* from = std::fopen(file.c_str(), "r");
    REQUIRE(from != nullptr);
    X509* certificate = PEM_read_X509(from, nullptr, nullptr, nullptr);
    std::fclose(from);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    REQUIRE(X509_digest(certificate, digest, hash, &length) == 1);
    X509_free(certificate);
    return {reinterpret_cast<const char*>(hash), length};
}

}  // namespace

TEST_CASE(
    "tls context: files that do not serve are named, with the reason and without their text") {
    CertificateFolder folder;
    folder.make("a", "a");
    folder.make("b", "b");
    TlsFiles files = folder.files("a");
    CHECK(words_of(files).empty());

    files.cert = folder.file("none.crt");
    CHECK(words_of(files) ==
          "cannot use the certificate " + files.cert + ": No such file or directory");
    files = folder.files("a");
    files.key = folder.file("none.key");
    CHECK(words_of(files) ==
          "cannot use the private key " + files.key + ": No such file or directory");
    files.key = folder.file("b.key");
    CHECK(words_of(files) == "cannot use the private key " + files.key + ": key values mismatch");
    files.key = folder.file("a.crt");
    CHECK_FALSE(words_of(files).empty());
    files = folder.files("a");
    files.client_ca = folder.file("a.key");
    CHECK(words_of(files).starts_with("cannot use the client authorities " + files.client_ca));
    std::ofstream(folder.file("empty")).flush();
    files = folder.files("a");
    files.cert = folder.file("empty");
    CHECK(words_of(files).starts_with("cannot use the certificate " + files.cert));
}

TEST_CASE("tls context: a key that needs a passphrase is refused, and nobody is asked for one") {
    CertificateFolder folder;
    folder.make("a", "a");
    TlsFiles files = folder.files("a");
    files.key = folder.file("a.locked.key");
    const std::string words = words_of(files);
    CHECK(words.starts_with("cannot use the private key " + files.key));
}

TEST_CASE("tls context: the end point's hash is that of the signature, SHA-256 in place of SHA-1") {
    CertificateFolder folder;
    folder.make("sha256", "a", EVP_sha256());
    folder.make("sha384", "a", EVP_sha384());
    folder.make("sha1", "a", EVP_sha1(), "EC");
    folder.make("ed25519", "a", nullptr, "ED25519");
    const auto hash = [&](const std::string& name) {
        const auto loaded = TlsContext::load(folder.files(name));
        INFO(name << (loaded ? "" : loaded.error().message));
        REQUIRE(loaded);
        return (*loaded)->end_point_hash();
    };
    CHECK(hash("sha256") == digest_of(folder.file("sha256.crt"), EVP_sha256()));
    CHECK(hash("sha384") == digest_of(folder.file("sha384.crt"), EVP_sha384()));
    // Not defined: nothing may be bound to it.
    CHECK(hash("ed25519").empty());
    CHECK(hash("sha1") == digest_of(folder.file("sha1.crt"), EVP_sha256()));
}

TEST_CASE("tls context: it tells whose certificate it has") {
    CertificateFolder folder;
    folder.make("a", "db.example.org");
    const auto loaded = TlsContext::load(folder.files("a"));
    REQUIRE(loaded);
    CHECK((*loaded)->subject() == "CN=db.example.org,O=Test\\, Inc.");
    CHECK((*loaded)->expiry().ends_with("Z"));
}
