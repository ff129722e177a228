#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/base/http_answer.h"
#include "proxy/base/result.h"

namespace pgb {

/// Answers GET and HEAD on threads of its own (two workers), so that no page or scrape ever takes a
/// turn of the loop. Every other method gets 405.
///
/// Bounds: 8 KiB of request line and of each header, 1 KiB of body, 1 s for each read, one request
/// a connection (an idle keep-alive connection would hold one of the two workers), 64 connections
/// waiting for a worker; more wait in the kernel's backlog.
class HttpServer {
public:
    /// Called on the worker threads with the path without its query; must be thread-safe, so it
    /// reads snapshots (SnapshotBox) and nothing else.
    using Handler = std::function<HttpAnswer(std::string_view path)>;

    /// Binds and starts. Port 0 lets the kernel choose. A port in use is an error.
    static Result<std::unique_ptr<HttpServer>> start(const std::string& address, std::uint16_t port,
                                                     Handler handler);
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
