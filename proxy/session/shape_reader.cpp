#include "proxy/session/shape_reader.h"

#include <algorithm>

namespace pgb {

namespace {
// Header and the count of parameters or columns.
constexpr std::size_t kLead = 7;
// Behind its name, a column has: table OID, column number, type OID, type size, type modifier,
// format. Only type and modifier say what its values are.
constexpr std::size_t kFixed = 18;
constexpr bool is_of_interest(std::size_t at) {
    return (at >= 6 && at < 10) || (at >= 12 && at < 16);
}
// FNV-1a.
constexpr std::uint64_t kOffset = 0xcbf29ce484222325U;
constexpr std::uint64_t kPrime = 0x100000001b3U;
}  // namespace

void ShapeReader::start() {
    types_.clear();
    rows_ = kNoRows;
}

void ShapeReader::read(char type, bool first, std::string_view bytes) {
    if (first) {
        skip_ = kLead;
        if (type == 'T') {
            digest_ = kOffset;
            at_ = 0;
            in_name_ = true;
        }
    }
    const std::size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    if (type == 'T') {
        read_columns(bytes);
    } else {
        types_ += bytes;
    }
}

void ShapeReader::read_columns(std::string_view bytes) {
    for (const char byte : bytes) {
        if (in_name_) {
            mix(byte);
            in_name_ = byte != '\0';
            continue;
        }
        if (is_of_interest(at_)) mix(byte);
        if (++at_ < kFixed) continue;
        at_ = 0;
        in_name_ = true;
    }
    // None of the values that mean something else.
    rows_ = digest_ <= kUntriedRows ? kUntriedRows + 1 : digest_;
}

void ShapeReader::mix(char byte) {
    digest_ = (digest_ ^ static_cast<unsigned char>(byte)) * kPrime;
}

}  // namespace pgb
