#include "protocol/writer.h"

namespace pgb {

namespace {
char byte_of(std::uint32_t value, int shift) { return static_cast<char>(value >> shift & 0xff); }
}  // namespace

MessageWriter& MessageWriter::begin(char type) {
    out_ += type;
    length_at_ = out_.size();
    out_.append(4, '\0');
    return *this;
}

MessageWriter& MessageWriter::u8(std::uint8_t value) {
    out_ += static_cast<char>(value);
    return *this;
}

MessageWriter& MessageWriter::u16(std::uint16_t value) {
    const char raw[] = {byte_of(value, 8), byte_of(value, 0)};
    out_.append(raw, sizeof raw);
    return *this;
}

MessageWriter& MessageWriter::u32(std::uint32_t value) {
    const char raw[] = {byte_of(value, 24), byte_of(value, 16), byte_of(value, 8),
                        byte_of(value, 0)};
    out_.append(raw, sizeof raw);
    return *this;
}

MessageWriter& MessageWriter::bytes(std::string_view value) {
    out_ += value;
    return *this;
}

MessageWriter& MessageWriter::cstring(std::string_view value) {
    out_ += value.substr(0, value.find('\0'));
    out_ += '\0';
    return *this;
}

void MessageWriter::end() {
    const auto length = static_cast<std::uint32_t>(out_.size() - length_at_);
    for (int i = 0; i < 4; ++i)
        out_[length_at_ + static_cast<std::size_t>(i)] = byte_of(length, 24 - 8 * i);
}

}  // namespace pgb
