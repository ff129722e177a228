#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/scram_reader.h"
#include "protocol/scram_verifier.h"

namespace pgb {

inline constexpr std::string_view kScramMechanism = "SCRAM-SHA-256";
inline constexpr std::string_view kScramPlusMechanism = "SCRAM-SHA-256-PLUS";

/// What an exchange is bound to (RFC 5802, section 6).
struct ScramBinding {
    /// `tls-server-end-point` of the connection (RFC 5929), bytes; empty: no TLS.
    std::string end_point;
    /// The client chose SCRAM-SHA-256-PLUS.
    bool in_use = false;
};

/// The server's side of one SCRAM exchange (RFC 5802, section 3), as strict as PostgreSQL:
///
///   client-first --read_first()--> first_reply() --> client-final --read_final()--> proves()?
///                                                                                    final_reply()
///
/// Called in this order, each once. The name that the client puts into its message is ignored, as
/// PostgreSQL does: who logs in is said by the startup packet. Neither I/O nor chance: the server's
/// nonce is handed in.
class ScramExchange {
public:
    explicit ScramExchange(ScramBinding binding) : binding_(std::move(binding)) {}

    [[nodiscard]] std::optional<ScramFault> read_first(std::string_view message);
    /// `nonce`: printable, without comma, never used before.
    [[nodiscard]] std::string first_reply(const ScramVerifier& verifier, std::string_view nonce);
    [[nodiscard]] std::optional<ScramFault> read_final(std::string_view message);
    /// Whether the client knows the password. The time it takes does not depend on how wrong it is.
    [[nodiscard]] bool proves(const ScramVerifier& verifier) const;
    [[nodiscard]] std::string final_reply(const ScramVerifier& verifier) const;

private:
    void read_binding_flag(ScramReader& reader);
    [[nodiscard]] std::optional<ScramFault> check_binding(std::string_view data) const;
    [[nodiscard]] std::string auth_message() const;

    ScramBinding binding_;
    char binding_flag_ = '\0';
    std::string first_bare_;           // the client's first message without its gs2 header
    std::string nonce_;                // the client's, then both
    std::string first_reply_;          // as it was sent
    std::string final_without_proof_;  // the client's
    std::string proof_;
};

}  // namespace pgb
