#include "proxy/io/http.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
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
// A change of one workload has some hundred bytes.
constexpr std::size_t kBodyMax = std::size_t{16} << 10;
// A scrape of many workloads takes milliseconds: where processors are short the traffic goes first.
constexpr int kNice = 5;
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
        // On Linux a thread has a niceness of its own. That it can't be had harms nobody.
        (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
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
    explicit BoundedServer(const TlsHolder* tls, EventStreams* streams)
        : tls_(tls), streams_(streams) {}

private:
    // One request a connection. httplib has no place where a handler may say what becomes of the
    // connection; a member of the request that only its client uses carries that.
    bool process_and_close_socket(socket_t socket) override {
        (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
        HttpStream stream(socket, monotonic_now() + kConnectionMax);
        bool closed = false;
        const bool speaks = tls_ == nullptr || stream.shake(tls_->current());
        bool becomes_stream = false;
        const auto set_up = [&becomes_stream](httplib::Request& request) {
            request.response_handler = [&becomes_stream](const httplib::Response&) {
                return becomes_stream = true;
            };
        };
        const bool done = speaks && process_request(stream, true, closed, set_up);
        if (becomes_stream && done) {
            streams_->adopt(socket, stream.release_tls());
            return true;
        }
        if (becomes_stream) streams_->give_back();
        stream.finish();
        ::close(socket);
        return done;
    }

    const TlsHolder* tls_;
    EventStreams* streams_;
};

/// `listening` is told the descriptor that the server made last.
void set_bounds(httplib::Server& server, int* listening) {
    server.new_task_queue = [] { return new WorkerQueue; };
    server.set_tcp_nodelay(true);
    server.set_payload_max_length(kBodyMax);
    // httplib's default is SO_REUSEPORT, with which two processes share a port and nobody is told.
    server.set_socket_options([listening](socket_t socket) {
        const int on = 1;
        *listening = socket;
        (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
}

/// False: there is no place for one more.
bool begin_events(EventStreams* streams, const httplib::Request& request,
                  httplib::Response& response) {
    if (streams == nullptr || !streams->reserve()) return false;
    request.response_handler(response);
    // Without a length the peer reads until the connection ends; what follows is sent by the streams.
    response.set_content_provider("text/event-stream",
                                  [](std::size_t /*offset*/, httplib::DataSink& sink) {
                                      sink.done();
                                      return true;
                                  });
    return true;
}

/// A header that is given twice is one list.
std::string accepted(const httplib::Request& request) {
    std::string all;
    const auto [first, end] = request.headers.equal_range("Accept");
    for (auto at = first; at != end; ++at) all += (all.empty() ? "" : ",") + at->second;
    return all;
}

/// False: the body is to be read first.
bool answer(const HttpServer::Handler& handler, EventStreams* streams,
            const httplib::Request& request, httplib::Response& response,
            std::optional<std::string> body) {
    const HttpAnswer made = handler({.method = request.method,
                                     .path = request.path,
                                     .host = request.get_header_value("Host"),
                                     .host_count = request.get_header_value_count("Host"),
                                     .origin = request.get_header_value("Origin"),
                                     .authorization = request.get_header_value("Authorization"),
                                     .content_type = request.get_header_value("Content-Type"),
                                     .if_none_match = request.get_header_value("If-None-Match"),
                                     .accept = accepted(request),
                                     .body = std::move(body)});
    if (made.sequel == HttpAnswer::Sequel::body) return false;
    response.status = made.status;
    for (const auto& [name, value] : made.headers) response.set_header(name, value);
    if (made.sequel != HttpAnswer::Sequel::events) {
        response.set_content(made.body, made.content_type);
    } else if (!begin_events(streams, request, response)) {
        response.status = 503;
        response.set_header("Retry-After", "5");
        response.set_content("too many streams of events\n", "text/plain; charset=utf-8");
    }
    return true;
}

int bind_server(httplib::Server& server, const std::string& address, std::uint16_t port) {
    if (port == 0) return server.bind_to_any_port(address);
    return server.bind_to_port(address, port) ? port : -1;
}

}  // namespace

struct HttpServer::State {
    State(const TlsHolder* tls, EventStreams::Source events)
        : streams(events ? std::make_unique<EventStreams>(std::move(events)) : nullptr),
          server(tls, streams.get()) {}

    Handler handler;
    std::unique_ptr<EventStreams> streams;
    BoundedServer server;
    int listening = -1;
    std::uint16_t port = 0;
    std::thread thread;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& address,
                                                      std::uint16_t port, Handler handler,
                                                      const TlsHolder* tls,
                                                      EventStreams::Source events) {
    auto state = std::make_unique<State>(tls, std::move(events));
    state->handler = std::move(handler);
    httplib::Server& server = state->server;
    set_bounds(server, &state->listening);
    server.set_pre_routing_handler(
        [at = state.get()](const httplib::Request& request, httplib::Response& response) {
            using Response = httplib::Server::HandlerResponse;
            const bool done = answer(at->handler, at->streams.get(), request, response, {});
            return done ? Response::Handled : Response::Unhandled;
        });
    server.Post(".*",
                [at = state.get()](const httplib::Request& request, httplib::Response& response) {
                    (void)answer(at->handler, at->streams.get(), request, response, request.body);
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
