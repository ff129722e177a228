#include "proxy/io/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

namespace pgb {

std::string address_text(const sockaddr_storage& address, socklen_t length) {
    char text[INET6_ADDRSTRLEN] = {};
    if (address.ss_family == AF_INET) {
        const auto& in = reinterpret_cast<const sockaddr_in&>(address);
        inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
        return std::string(text) + ':' + std::to_string(address_port(address));
    }
    if (address.ss_family == AF_INET6) {
        const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
        inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
        return '[' + std::string(text) + "]:" + std::to_string(address_port(address));
    }
    if (address.ss_family == AF_UNIX && length > offsetof(sockaddr_un, sun_path)) {
        const auto& un = reinterpret_cast<const sockaddr_un&>(address);
        return std::string(un.sun_path, strnlen(un.sun_path, sizeof un.sun_path));
    }
    return {};
}

std::string_view address_host(std::string_view text) {
    if (text.starts_with('[')) return text.substr(1, text.find(']') - 1);
    const std::size_t colon = text.find(':');
    const bool is_address = colon != text.npos && text.substr(0, colon).find('.') != text.npos;
    return is_address && text.front() != '/' ? text.substr(0, colon) : std::string_view();
}

std::uint16_t address_port(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    }
    if (address.ss_family == AF_INET6) {
        return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    }
    return 0;
}

}  // namespace pgb
