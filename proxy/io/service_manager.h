#pragma once

#include <string>
#include <string_view>

#include "proxy/base/instant.h"

namespace pgb {

/// What is told to the service manager that started this process (sd_notify(3), systemd's Type=notify).
/// Each word is one datagram that is never waited for; without NOTIFY_SOCKET, and when it cannot be
/// sent, nothing happens.
///
/// The protocol is a datagram and two variables, promised to stay; libsystemd would bring five more
/// libraries into a process that holds passwords.
class ServiceManager {
public:
    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and forgets them, so that no child speaks
    /// for us.
    ServiceManager();
    ~ServiceManager();
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    /// It serves; `status` is for people (`systemctl status`). Also after a reload.
    void tell_ready(std::string_view status);
    /// Until the next tell_ready().
    void tell_reloading();
    /// It ends, and may take so long for it.
    void tell_stopping(std::string_view status, Duration at_most);
    void tell_alive();
    /// How often tell_alive() is due; zero: nobody asks for it.
    [[nodiscard]] Duration alive_interval() const { return alive_interval_; }

private:
    void send(const std::string& words);

    int fd_ = -1;
    std::string path_;  // with a leading zero byte for an abstract name
    Duration alive_interval_{0};
};

}  // namespace pgb
