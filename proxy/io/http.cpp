#include "proxy/io/http.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/io/clock.h"
#include "proxy/io/http_stream.h"

namespace pgb {

namespace {

// One more than may be held by scrapers that are slow to read.
constexpr std::size_t kWorkers = 4;
constexpr std::size_t kWaitingMax = 64;
constexpr int kBacklog = 128;
// From the first look at a connection to its end.
constexpr Duration kConnectionMax = std::chrono::seconds(2);

/// httplib's own pool queues without a bound, and each entry holds a descriptor that the traffic
/// may need. This one makes the accepting thread wait instead: the rest stays in the backlog.
class WorkerQueue final : public httplib::TaskQueue {
public:
    WorkerQueue() {
        for (std::size_t i = 0; i < kWorkers; ++i) threads_.emplace_back([this] { work(); });
    }

    void enqueue(std::function<void()> job) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return jobs_.size() < kWaitingMax; });
        jobs_.push_back(std::move(job));
        changed_.notify_all();
    }

    void shutdown() override {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return !jobs_.empty() || ending_; });
            if (jobs_.empty()) return;
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            changed_.notify_all();
            lock.unlock();
            job();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    std::vector<std::thread> threads_;
    bool ending_ = false;
};

/// httplib's server with connections that end in time and that no child process would inherit.
class BoundedServer final : public httplib::Server {
public:
    explicit BoundedServer(const TlsHolder* tls) : tls_(tls) {}

private:
    // One request a connection.
    bool process_and_close_socket(socket_t socket) override {
        (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
        HttpStream stream(socket, monotonic_now() + kConnectionMax);
        bool closed = false;
        const bool speaks = tls_ == nullptr || stream.shake(tls_->current());
        const bool done = speaks && process_request(stream, true, closed, nullptr);
        stream.finish();
        ::close(socket);
        return done;
    }

    const TlsHolder* tls_;
};

/// `listening` is told the descriptor that the server made last.
void set_bounds(httplib::Server& server, int* listening) {
    server.new_task_queue = [] { return new WorkerQueue; };
    server.set_tcp_nodelay(true);
    // httplib's default is SO_REUSEPORT, with which two processes share a port and nobody is told.
    server.set_socket_options([listening](socket_t socket) {
        const int on = 1;
        *listening = socket;
        (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
}

void answer(const HttpServer::Handler& handler, const httplib::Request& request,
            httplib::Response& response) {
    const HttpAnswer made = handler({.method = request.method,
                                     .path = request.path,
                                     .host = request.get_header_value("Host"),
                                     .host_count = request.get_header_value_count("Host"),
                                     .origin = request.get_header_value("Origin"),
                                     .authorization = request.get_header_value("Authorization"),
                                     .content_type = request.get_header_value("Content-Type")});
    response.status = made.status;
    for (const auto& [name, value] : made.headers) response.set_header(name, value);
    response.set_content(made.body, made.content_type);
}

int bind_server(httplib::Server& server, const std::string& address, std::uint16_t port) {
    if (port == 0) return server.bind_to_any_port(address);
    return server.bind_to_port(address, port) ? port : -1;
}

}  // namespace

struct HttpServer::State {
    explicit State(const TlsHolder* tls) : server(tls) {}

    Handler handler;
    BoundedServer server;
    int listening = -1;
    std::uint16_t port = 0;
    std::thread thread;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& address,
                                                      std::uint16_t port, Handler handler,
                                                      const TlsHolder* tls) {
    auto state = std::make_unique<State>(tls);
    state->handler = std::move(handler);
    httplib::Server& server = state->server;
    set_bounds(server, &state->listening);
    server.set_pre_routing_handler(
        [at = state.get()](const httplib::Request& request, httplib::Response& response) {
            answer(at->handler, request, response);
            return httplib::Server::HandlerResponse::Handled;
        });
    errno = 0;
    int bound = bind_server(server, address == "*" ? "::" : address, port);
    // A machine without IPv6.
    if (bound < 0 && address == "*" && errno != EADDRINUSE)
        bound = bind_server(server, "0.0.0.0", port);
    if (bound < 0) {
        const int error = errno;
        return Error{"cannot listen for HTTP on " + address + ':' + std::to_string(port) + ": " +
                         (error != 0 ? std::strerror(error) : "the address cannot be resolved"),
                     error};
    }
    // httplib asks for a backlog of 5; behind it a scrape would wait a second for its next SYN.
    (void)::listen(state->listening, kBacklog);
    state->port = static_cast<std::uint16_t>(bound);
    state->thread = std::thread([at = state.get()] { at->server.listen_after_bind(); });
    // stop() does nothing to a server that has not begun to listen; its thread would never end.
    while (!server.is_running()) std::this_thread::yield();
    return std::make_unique<HttpServer>(std::move(state));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
    state_->server.stop();
    state_->thread.join();
}

std::uint16_t HttpServer::port() const { return state_->port; }

}  // namespace pgb
