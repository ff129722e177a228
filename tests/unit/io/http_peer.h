#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace pgb {

/// A client of the HTTP server that says exactly what a test wants.
inline int connect_to(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

inline void say(int fd, const std::string& text) {
    (void)send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

/// Sends the text and reads to the end.
inline std::string converse(std::uint16_t port, const std::string& text) {
    const int fd = connect_to(port);
    if (fd < 0) return "(refused)";
    say(fd, text);
    std::string answer;
    char buffer[4096];
    for (;;) {
        const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
        if (count <= 0) break;
        answer.append(buffer, static_cast<std::size_t>(count));
    }
    close(fd);
    return answer;
}

inline std::string get(std::uint16_t port, const std::string& path,
                       const std::string& method = "GET") {
    return converse(port, method + ' ' + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

}  // namespace pgb
