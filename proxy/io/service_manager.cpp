#include "proxy/io/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "proxy/io/clock.h"
#include "proxy/io/taken_variable.h"

namespace pgb {

namespace {

std::int64_t microseconds(Duration duration) { return duration / std::chrono::microseconds(1); }

}  // namespace

ServiceManager::ServiceManager() {
    const std::optional<std::int64_t> interval = take_number("WATCHDOG_USEC");
    const std::optional<std::int64_t> whose = take_number("WATCHDOG_PID");
    path_ = take_variable("NOTIFY_SOCKET").value_or("");
    const bool is_usable = (path_.starts_with('/') || path_.starts_with('@')) &&
                           path_.size() < sizeof(sockaddr_un::sun_path);
    if (!is_usable) return;
    if (path_[0] == '@') path_[0] = '\0';
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool for_us = !whose || *whose == getpid();
    // Half of it, as sd_watchdog_enabled(3) advises.
    if (interval && *interval > 1 && for_us) {
        alive_interval_ = std::chrono::microseconds(*interval / 2);
    }
}

ServiceManager::~ServiceManager() {
    if (fd_ >= 0) close(fd_);
}

void ServiceManager::tell_ready(std::string_view status) {
    send("READY=1\nSTATUS=" + std::string(status));
}

void ServiceManager::tell_reloading() {
    send("RELOADING=1\nMONOTONIC_USEC=" +
         std::to_string(microseconds(monotonic_now().since_start())));
}

void ServiceManager::tell_stopping(std::string_view status, Duration at_most) {
    send("STOPPING=1\nSTATUS=" + std::string(status) +
         "\nEXTEND_TIMEOUT_USEC=" + std::to_string(microseconds(at_most)));
}

void ServiceManager::tell_alive() { send("WATCHDOG=1"); }

void ServiceManager::send(const std::string& words) {
    if (fd_ < 0) return;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
    sendto(fd_, words.data(), words.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
           length);
}

}  // namespace pgb
