#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "proxy/base/http_answer.h"
#include "proxy/base/result.h"
#include "proxy/io/http_events.h"
#include "proxy/io/tls_holder.h"

namespace pgb {

/// Answers requests on threads of its own (four workers), so that no page or scrape ever takes a
/// turn of the loop.
///
/// Bounds: 8 KiB of request line and of each header; one request a connection, which ends 2 s after
/// a worker has taken it, whatever its peer does; 64 connections waiting for a worker; more wait in
/// the kernel's backlog. A body is read only when the handler asks for it, and then 16 KiB at most.
/// A connection that turns into a stream of events leaves its worker (EventStreams).
class HttpServer {
public:
    /// Called on the worker threads for every method; must be thread-safe, so it reads snapshots
    /// (SnapshotBox), asks the loop (LoopErrand), and nothing else.
    using Handler = std::function<HttpAnswer(const HttpRequest& request)>;

    /// Binds and starts. Port 0 lets the kernel choose. A port in use is an error. `tls`: not null
    /// for HTTPS; outlives the server. `events`: what answers with Sequel::events are followed by;
    /// without it there are none of those.
    static Result<std::unique_ptr<HttpServer>> start(const std::string& address, std::uint16_t port,
                                                     Handler handler,
                                                     const TlsHolder* tls = nullptr,
                                                     EventStreams::Source events = {});
    /// Stops accepting, lets running requests end within their bounds, and joins.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    [[nodiscard]] std::uint16_t port() const;

    struct State;
    explicit HttpServer(std::unique_ptr<State> state);

private:
    std::unique_ptr<State> state_;
};

}  // namespace pgb
