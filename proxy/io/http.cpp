#include "proxy/io/http.h"

#include <httplib.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace pgb {

namespace {

constexpr std::size_t kWorkers = 2;
constexpr std::size_t kWaitingMax = 64;
constexpr int kBacklog = 128;
constexpr time_t kReadSeconds = 1;
constexpr std::size_t kBodyMax = 1024;

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

/// `listening` is told the descriptor that the server made last.
void set_bounds(httplib::Server& server, int* listening) {
    server.new_task_queue = [] { return new WorkerQueue; };
    server.set_read_timeout(kReadSeconds);
    server.set_write_timeout(kReadSeconds);
    server.set_keep_alive_timeout(kReadSeconds);
    server.set_keep_alive_max_count(1);
    server.set_payload_max_length(kBodyMax);
    server.set_tcp_nodelay(true);
    // httplib's default is SO_REUSEPORT, with which two processes share a port and nobody is told.
    server.set_socket_options([listening](socket_t socket) {
        const int on = 1;
        *listening = socket;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
}

void answer(const HttpServer::Handler& handler, const httplib::Request& request,
            httplib::Response& response) {
    if (request.method != "GET" && request.method != "HEAD") {
        response.status = 405;
        response.set_header("Allow", "GET, HEAD");
        response.set_content("method not allowed\n", "text/plain");
        return;
    }
    const HttpAnswer made = handler(request.path);
    response.status = made.status;
    response.set_content(made.body, made.content_type);
}

int bind_server(httplib::Server& server, const std::string& address, std::uint16_t port) {
    if (port == 0) return server.bind_to_any_port(address);
    return server.bind_to_port(address, port) ? port : -1;
}

}  // namespace

struct HttpServer::State {
    Handler handler;
    httplib::Server server;
    int listening = -1;
    std::uint16_t port = 0;
    std::thread thread;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& address,
                                                      std::uint16_t port, Handler handler) {
    auto state = std::make_unique<State>();
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
