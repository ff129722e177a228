#pragma once

#include <functional>

#include "proxy/io/loop.h"

struct uv_signal_s;

namespace pgb {

/// Delivers SIGTERM, SIGINT and SIGHUP on the loop, by number. They do not keep the loop running.
/// After it they are ignored: the process is about to end, and one more must not spoil its exit code.
class Signals {
public:
    Signals(Loop& loop, std::function<void(int signal)> callback);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

private:
    std::function<void(int)> callback_;
    uv_signal_s* handles_[3];
};

/// For the start of main(): a write to a closed connection is an error code, not our death. Not
/// every library below us asks for MSG_NOSIGNAL.
void ignore_sigpipe();

}  // namespace pgb
