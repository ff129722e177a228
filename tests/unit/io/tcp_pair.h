#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/catch.h"

namespace pgb {

/// Two ends of a TCP connection over loopback. Whoever is given an end to own takes it.
struct TcpPair {
    TcpPair() {
        const int door = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(bind(door, generic, length) == 0);
        REQUIRE(listen(door, 1) == 0);
        REQUIRE(getsockname(door, generic, &length) == 0);
        far = socket(AF_INET, SOCK_STREAM, 0);
        REQUIRE(connect(far, generic, length) == 0);
        near = accept4(door, nullptr, nullptr, SOCK_NONBLOCK);
        REQUIRE(near >= 0);
        close(door);
    }

    int near = -1;
    int far = -1;
};

}  // namespace pgb
