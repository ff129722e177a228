#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pgb {

/// The user id of the process that opened the other end of a Unix socket, when it did; nothing for
/// another socket.
[[nodiscard]] std::optional<std::uint32_t> peer_user_id(int fd);

/// The name of a user of the operating system. May take as long as whatever the system asks for it:
/// off the loop only.
[[nodiscard]] std::optional<std::string> user_name(std::uint32_t user_id);

}  // namespace pgb
