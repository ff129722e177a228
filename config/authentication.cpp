#include "config/authentication.h"

#include <string>

#include "config/codes.h"
#include "config/forms.h"
#include "config/read.h"

namespace pgb::config {
namespace {

/// The key of the listener or, where it is silent, of the section `auth`.
std::string path_of(std::size_t index, const char* key, const Findings& findings) {
    const std::string own = "listen[" + std::to_string(index) + "].auth." + key;
    return findings.given(own) ? own : std::string("auth.") + key;
}

bool is_known(std::size_t index, const Findings& findings) {
    const std::string entry = "listen[" + std::to_string(index) + "].";
    bool usable = findings.usable(entry + "address");
    for (const char* key : {"auth.method", "auth.allow_insecure", "auth.users_file"}) {
        usable = usable && findings.usable(key) && findings.usable(entry + key);
    }
    return usable;
}

/// Only this machine can reach the door, or read what is said there.
bool is_private(const Listener& listener) {
    return listener.unix_socket_dir || is_loopback(*listener.address);
}

void validate_trust(const Listener& listener, std::size_t index, Findings& findings) {
    if (is_private(listener) || listener.auth.allow_insecure) return;
    findings.add("listen[" + std::to_string(index) + "].address",
                 {code::kTrust,
                  "auth method trust serves loopback and Unix sockets only, and " +
                      quote(*listener.address) + " may be reached from other machines",
                  ""});
}

void validate_passthrough(const Listener& listener, std::size_t index, Findings& findings) {
    const bool is_safe = is_private(listener) || listener.tls.mode != TlsMode::disable;
    if (is_safe || listener.auth.allow_insecure) return;
    findings.add(path_of(index, "method", findings),
                 {code::kMethodDoor,
                  "with passthrough the passwords that come to " + quote(*listener.address) +
                      " would travel in the clear",
                  ""});
}

void validate_cert(const Listener& listener, std::size_t index, Findings& findings) {
    const std::string tls = "listen[" + std::to_string(index) + "].tls";
    if (!findings.usable(tls + ".mode") || !findings.usable(tls + ".client_ca")) return;
    if (listener.tls.mode != TlsMode::disable && listener.tls.client_ca) return;
    findings.add(path_of(index, "method", findings),
                 {code::kMethodDoor, "cert needs TLS with a `client_ca`", ""});
}

}  // namespace

void validate_authentication(const Listener& listener, std::size_t index, Findings& findings) {
    if (!is_known(index, findings)) return;
    switch (listener.auth.method) {
        case AuthMethod::trust: validate_trust(listener, index, findings); return;
        case AuthMethod::scram_sha_256:
            if (listener.auth.users_file) return;
            findings.add(path_of(index, "method", findings),
                         {code::kUsersFile, "scram-sha-256 needs a `users_file`", ""});
            return;
        case AuthMethod::passthrough: validate_passthrough(listener, index, findings); return;
        case AuthMethod::peer:
            if (listener.unix_socket_dir) return;
            findings.add(path_of(index, "method", findings),
                         {code::kMethodDoor, "peer serves Unix sockets only", ""});
            return;
        case AuthMethod::cert: validate_cert(listener, index, findings); return;
    }
}

}  // namespace pgb::config
