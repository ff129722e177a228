#include "config/network.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace pgb::config {

namespace {

constexpr unsigned kBits = 128;
// Of ::ffff:0:0/96.
constexpr std::size_t kMappedBytes = 12;

std::optional<unsigned> read_number(std::string_view text, int base, std::size_t digits_max,
                                    unsigned most) {
    unsigned value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value, base);
    if (text.size() > digits_max || read.ec != std::errc() || read.ptr != end || value > most) {
        return std::nullopt;
    }
    return value;
}

// The four parts of an address of IPv4.
bool read_parts(std::string_view text, std::uint8_t* into) {
    for (int part = 0; part < 4; ++part) {
        const std::size_t dot = text.find('.');
        if ((dot == std::string_view::npos) != (part == 3)) return false;
        const auto value = read_number(text.substr(0, dot), 10, 3, 255);
        if (!value) return false;
        into[part] = static_cast<std::uint8_t>(*value);
        text.remove_prefix(part == 3 ? text.size() : dot + 1);
    }
    return true;
}

// Groups between colons, the last of which may be an address of IPv4; how many bytes they are.
std::optional<std::size_t> read_groups(std::string_view text, IpAddress& into) {
    std::size_t size = 0;
    while (!text.empty()) {
        const std::size_t colon = text.find(':');
        const std::string_view group = text.substr(0, colon);
        const bool last = colon == std::string_view::npos;
        if (last && group.find('.') != group.npos) {
            if (size + 4 > into.size() || !read_parts(group, into.data() + size)) return {};
            return size + 4;
        }
        const auto value = read_number(group, 16, 4, 0xffff);
        if (!value || size + 2 > into.size()) return std::nullopt;
        into[size++] = static_cast<std::uint8_t>(*value >> 8);
        into[size++] = static_cast<std::uint8_t>(*value & 0xff);
        if (last) return size;
        text.remove_prefix(colon + 1);
        if (text.empty()) return std::nullopt;
    }
    return size;
}

}  // namespace

std::optional<IpAddress> read_ipv4(std::string_view text) {
    IpAddress address{};
    address[10] = address[11] = 0xff;
    if (!read_parts(text, address.data() + kMappedBytes)) return std::nullopt;
    return address;
}

std::optional<IpAddress> read_ipv6(std::string_view text) {
    IpAddress address{};
    const std::size_t gap = text.find("::");
    const auto before = read_groups(text.substr(0, gap), address);
    if (gap == std::string_view::npos) {
        return before == address.size() ? std::optional(address) : std::nullopt;
    }
    IpAddress tail{};
    const auto after = read_groups(text.substr(gap + 2), tail);
    // The gap stands for one group at least.
    if (!before || !after || *before + *after > address.size() - 2) return std::nullopt;
    std::copy_n(tail.begin(), *after, address.end() - static_cast<std::ptrdiff_t>(*after));
    return address;
}

std::optional<Network> Network::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::string_view host = text.substr(0, slash);
    Network network;
    network.bits_ = kBits;
    unsigned most = kBits - kMappedBytes * 8;
    auto address = read_ipv4(host);
    if (!address) {
        address = read_ipv6(host);
        most = kBits;
    }
    if (!address) return std::nullopt;
    network.address_ = *address;
    if (slash == std::string_view::npos) return network;
    const auto bits = read_number(text.substr(slash + 1), 10, 3, most);
    if (!bits) return std::nullopt;
    network.bits_ = kBits - most + *bits;
    return network;
}

bool Network::contains(std::string_view address) const {
    auto bytes = read_ipv4(address);
    if (!bytes) bytes = read_ipv6(address);
    if (!bytes) return false;
    const unsigned whole = bits_ / 8;
    if (!std::equal(address_.begin(), address_.begin() + whole, bytes->begin())) return false;
    if (bits_ % 8 == 0) return true;
    const unsigned mask = 0xffU << (8 - bits_ % 8) & 0xffU;
    return ((address_[whole] ^ (*bytes)[whole]) & mask) == 0;
}

}  // namespace pgb::config
