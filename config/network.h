#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pgb::config {

/// An address as IPv6 has it, the first byte first; one of IPv4 is mapped: `::ffff:10.0.0.1`.
using IpAddress = std::array<std::uint8_t, 16>;

/// `10.0.0.1`.
[[nodiscard]] std::optional<IpAddress> read_ipv4(std::string_view text);
/// `2001:db8::1`, `::ffff:10.0.0.1`; without brackets and zone.
[[nodiscard]] std::optional<IpAddress> read_ipv6(std::string_view text);

/// A network as the file names it: `10.0.0.0/8`, `2001:db8::/32`; without bits one address. Bits of
/// the address behind those of the network do not count.
class Network {
public:
    /// Nothing when the text is none.
    [[nodiscard]] static std::optional<Network> parse(std::string_view text);

    /// `address` without a port. One of IPv4 that came through a socket of IPv6 is in the networks
    /// of IPv4. What is no address, such as a Unix socket's path, is in none.
    [[nodiscard]] bool contains(std::string_view address) const;

private:
    IpAddress address_{};
    unsigned bits_ = 0;
};

}  // namespace pgb::config
