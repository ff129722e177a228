#include "protocol/authentication_messages.h"

#include "protocol/writer.h"

namespace pgb {

namespace {

// The numbers of the Authentication messages.
constexpr std::uint32_t kCleartextPassword = 3;
constexpr std::uint32_t kSasl = 10;
constexpr std::uint32_t kSaslContinue = 11;
constexpr std::uint32_t kSaslFinal = 12;

}  // namespace

void append_authentication_cleartext(std::string& out) {
    MessageWriter(out).begin(BackendType::authentication).u32(kCleartextPassword).end();
}

void append_authentication_sasl(std::string& out,
                                std::initializer_list<std::string_view> mechanisms) {
    MessageWriter writer(out);
    writer.begin(BackendType::authentication).u32(kSasl);
    for (const std::string_view mechanism : mechanisms) writer.cstring(mechanism);
    writer.cstring("").end();
}

void append_authentication_sasl_data(std::string& out, SaslData kind, std::string_view data) {
    MessageWriter writer(out);
    writer.begin(BackendType::authentication);
    writer.u32(kind == SaslData::final ? kSaslFinal : kSaslContinue).bytes(data).end();
}

}  // namespace pgb
