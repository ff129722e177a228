#include "protocol/scram.h"

#include <algorithm>

#include "protocol/base64.h"
#include "protocol/sqlstate.h"

namespace pgb {

namespace {

constexpr std::string_view kEndPoint = "tls-server-end-point";

bool is_printable_nonce(std::string_view nonce) {
    return std::all_of(nonce.begin(), nonce.end(),
                       [](char c) { return c >= 0x21 && c <= 0x7e && c != ','; });
}

std::optional<ScramFault> check_whole(std::string_view message) {
    if (message.empty()) return malformed_scram("The message is empty.");
    if (message.find('\0') == std::string_view::npos) return std::nullopt;
    return malformed_scram("Message length does not match input length.");
}

}  // namespace

void ScramExchange::read_binding_flag(ScramReader& reader) {
    binding_flag_ = reader.peek();
    switch (binding_flag_) {
        case 'n':
        case 'y':
            if (binding_.in_use) {
                reader.complain(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not "
                    "include channel binding data.");
            } else if (binding_flag_ == 'y' && !binding_.end_point.empty()) {
                reader.fail({sqlstate::kInvalidAuthorizationSpecification,
                             "SCRAM channel binding negotiation error",
                             "The client supports SCRAM channel binding but thinks the server does "
                             "not.  However, this server does support channel binding."});
            }
            reader.skip();
            reader.take_comma();
            return;
        case 'p': break;
        default:
            reader.complain("Unexpected channel-binding flag \"" + reader.shown() + "\".");
            return;
    }
    if (!binding_.in_use) {
        reader.complain(
            "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message "
            "includes channel binding data.");
    }
    const std::string_view type = reader.take_value('p');
    if (type == kEndPoint) return;
    reader.fail({sqlstate::kProtocolViolation,
                 "unsupported SCRAM channel-binding type \"" + shown_scram_text(type) + "\"", ""});
}

std::optional<ScramFault> ScramExchange::read_first(std::string_view message) {
    if (auto fault = check_whole(message)) return fault;
    ScramReader reader(message);
    read_binding_flag(reader);
    if (reader.peek() == 'a') {
        reader.fail({sqlstate::kFeatureNotSupported,
                     "client uses authorization identity, but it is not supported", ""});
    } else if (reader.peek() != ',') {
        reader.complain("Unexpected attribute \"" + reader.shown() + "\" in client-first-message.");
    }
    reader.skip();
    first_bare_ = reader.rest();
    if (reader.peek() == 'm') {
        reader.fail(
            {sqlstate::kFeatureNotSupported, "client requires an unsupported SCRAM extension", ""});
    }
    (void)reader.take_value('n');
    nonce_ = reader.take_value('r');
    if (!is_printable_nonce(nonce_)) {
        reader.fail({sqlstate::kProtocolViolation, "non-printable characters in SCRAM nonce", ""});
    }
    while (!reader.failed() && !reader.at_end()) (void)reader.take_any();
    return reader.fault();
}

std::string ScramExchange::first_reply(const ScramVerifier& verifier, std::string_view nonce) {
    nonce_ += nonce;
    first_reply_ = "r=" + nonce_ + ",s=" + encode_base64(verifier.salt) +
                   ",i=" + std::to_string(verifier.iterations);
    return first_reply_;
}

std::optional<ScramFault> ScramExchange::check_binding(std::string_view data) const {
    if (binding_.in_use) {
        std::string expected = "p=";
        expected.append(kEndPoint).append(",,").append(binding_.end_point);
        if (data == encode_base64(expected)) return std::nullopt;
        return ScramFault{sqlstate::kInvalidAuthorizationSpecification,
                          "SCRAM channel binding check failed", ""};
    }
    const std::string header{binding_flag_, ',', ','};
    if (data == encode_base64(header)) return std::nullopt;
    return ScramFault{sqlstate::kProtocolViolation,
                      "unexpected SCRAM channel-binding attribute in client-final-message", ""};
}

std::optional<ScramFault> ScramExchange::read_final(std::string_view message) {
    if (auto fault = check_whole(message)) return fault;
    ScramReader reader(message);
    const std::string_view binding = reader.take_value('c');
    if (!reader.failed()) {
        if (auto fault = check_binding(binding)) reader.fail(std::move(*fault));
    }
    const std::string_view nonce = reader.take_value('r');
    // Extensions that may be left out come before the proof.
    ScramReader::Attribute attribute;
    std::size_t proof_at = 0;
    do {
        proof_at = message.size() - reader.rest().size();
        attribute = reader.take_any();
    } while (!reader.failed() && attribute.name != 'p');
    if (reader.failed()) return reader.fault();
    const auto proof = decode_base64(attribute.value);
    if (!proof || proof->size() != kScramKeySize) {
        return malformed_scram("Malformed proof in client-final-message.");
    }
    if (!reader.at_end()) {
        return malformed_scram("Garbage found at the end of client-final-message.");
    }
    // The comma before the proof belongs to it.
    final_without_proof_ = message.substr(0, proof_at - 1);
    proof_ = *proof;
    if (is_same_secret(nonce, nonce_)) return std::nullopt;
    return ScramFault{sqlstate::kProtocolViolation, "invalid SCRAM response",
                      "Nonce does not match."};
}

std::string ScramExchange::auth_message() const {
    return first_bare_ + ',' + first_reply_ + ',' + final_without_proof_;
}

bool ScramExchange::proves(const ScramVerifier& verifier) const {
    ScramKey client_key = hmac_sha256(bytes_of(verifier.stored_key), auth_message());
    for (std::size_t i = 0; i < client_key.size() && i < proof_.size(); ++i) {
        client_key[i] ^= static_cast<unsigned char>(proof_[i]);
    }
    return is_same_secret(bytes_of(sha256(bytes_of(client_key))), bytes_of(verifier.stored_key));
}

std::string ScramExchange::final_reply(const ScramVerifier& verifier) const {
    return "v=" +
           encode_base64(bytes_of(hmac_sha256(bytes_of(verifier.server_key), auth_message())));
}

}  // namespace pgb
