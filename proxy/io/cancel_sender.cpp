#include "proxy/io/cancel_sender.h"

#include <libpq-fe.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/socket.h"
#include "proxy/io/socket_address.h"

namespace pgb {

using namespace std::chrono_literals;

namespace {

// Protocol manual, 55.7: CancelRequest.
constexpr std::uint32_t kCancelRequestCode = 80877102;
// A Unix socket whose backlog is full says EAGAIN and no readiness tells when it is not; a guess.
constexpr Duration kRetryAfter = 5ms;

void append_u32(std::string& out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::string cancel_request(const CancelTarget& target) {
    std::string message;
    append_u32(message, static_cast<std::uint32_t>(12 + target.key.size()));
    append_u32(message, kCancelRequestCode);
    append_u32(message, target.pid);
    return message + target.key;
}

}  // namespace

/// One request.
///
///     QUEUED -> CONNECTING -> SENT, waits for EOF -> outcome -> reported by the timer
///           \-> WORKING (PQcancel in the thread pool) --^
///
/// An outcome that is known at once still waits for the timer, so that `done` never comes inside
/// send() and no flight dies inside its own event.
class CancelSender::Flight final : public SocketEvents {
public:
    Flight(CancelSender& sender, CancelTarget target, Instant deadline, Done done)
        : sender_(sender),
          target_(std::move(target)),
          deadline_(deadline),
          done_(std::move(done)),
          timer_(sender.loop_, [this] { on_timer(); }) {
        timer_.arm(deadline);
    }
    virtual ~Flight() {
        if (work_ != nullptr) work_->flight = nullptr;
    }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    void start() {
        if (target_.native != nullptr) return start_native();
        if (target_.pid == 0 || target_.key.empty()) return end(CancelOutcome::no_key);
        connect();
    }
    void report(CancelOutcome outcome) { done_(outcome); }

private:
    /// Outlives the flight when PQcancel takes longer than anybody waits for it.
    struct Work {
        uv_work_t request{};
        std::unique_ptr<pg_cancel, FreeNativeCancel> cancel;
        Flight* flight = nullptr;
        bool sent = false;
    };

    void connect();
    void start_native();
    void on_ready(bool readable, bool writable) override;
    void send_request();
    void end(CancelOutcome outcome) {
        outcome_ = outcome;
        socket_.reset();
        timer_.arm(sender_.loop_.now());
    }
    void on_timer();

    CancelSender& sender_;
    CancelTarget target_;
    Instant deadline_;
    Done done_;
    Timer timer_;
    std::optional<Socket> socket_;
    std::optional<CancelOutcome> outcome_;
    Work* work_ = nullptr;
    bool is_sent_ = false;
    bool is_retrying_ = false;
};

void CancelSender::Flight::connect() {
    is_retrying_ = false;
    const int fd = socket(target_.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return end(CancelOutcome::failed);
    const int connected = ::connect(fd, as_sockaddr(target_.address), target_.address_length);
    if (connected != 0 && errno != EINPROGRESS) {
        const int error = errno;
        close(fd);
        if (error != EAGAIN) return end(CancelOutcome::failed);
        is_retrying_ = true;
        timer_.arm(std::min(deadline_, sender_.loop_.now() + kRetryAfter));
        return;
    }
    socket_.emplace(sender_.loop_, fd, *this);
    socket_->watch(false, true);
}

void CancelSender::Flight::start_native() {
    work_ = new Work;
    work_->cancel = std::move(target_.native);
    work_->flight = this;
    work_->request.data = work_;
    const auto run = [](uv_work_t* request) {
        auto& work = *static_cast<Work*>(request->data);
        char complaint[256];
        work.sent = PQcancel(work.cancel.get(), complaint, sizeof complaint) == 1;
    };
    const auto after = [](uv_work_t* request, int) {
        const std::unique_ptr<Work> work(static_cast<Work*>(request->data));
        if (work->flight == nullptr) return;
        work->flight->work_ = nullptr;
        if (work->flight->outcome_) return;
        work->flight->end(work->sent ? CancelOutcome::closed : CancelOutcome::failed);
    };
    PGB_CHECK(uv_queue_work(sender_.loop_.raw(), &work_->request, run, after) == 0);
}

void CancelSender::Flight::on_ready(bool, bool) {
    if (!is_sent_) return send_request();
    for (;;) {
        char ignored[256];
        const ReadResult read = socket_->read(ignored);
        if (read.status == IoStatus::would_block) return;
        // A reset is a close too: what the server read it has acted on, and it reads no more.
        if (read.status != IoStatus::bytes) return end(CancelOutcome::closed);
    }
}

void CancelSender::Flight::send_request() {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket_->fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return end(CancelOutcome::failed);
    const std::string message = cancel_request(target_);
    const std::string_view segments[] = {message};
    const WriteResult written = socket_->write(segments);
    // The first bytes of a connection always fit; anything less has no effect at the server.
    if (written.count != message.size()) return end(CancelOutcome::failed);
    is_sent_ = true;
    socket_->watch(true, false);
}

void CancelSender::Flight::on_timer() {
    if (!outcome_ && is_retrying_ && sender_.loop_.now() < deadline_) {
        connect();
        if (!timer_.is_armed()) timer_.arm(deadline_);
        return;
    }
    sender_.finish(*this, outcome_.value_or(CancelOutcome::timed_out));
}

CancelSender::CancelSender(Loop& loop, std::size_t in_flight_max)
    : loop_(loop), in_flight_max_(in_flight_max), reaper_(loop, [this] { ended_.clear(); }) {}

CancelSender::~CancelSender() = default;

void CancelSender::send(CancelTarget target, Duration timeout, Done done) {
    queue_.push_back(
        std::make_unique<Flight>(*this, std::move(target), loop_.now() + timeout, std::move(done)));
    start_next();
}

void CancelSender::start_next() {
    while (!queue_.empty() && running_.size() < in_flight_max_) {
        running_.push_back(std::move(queue_.front()));
        queue_.pop_front();
        running_.back()->start();
    }
}

void CancelSender::finish(Flight& flight, CancelOutcome outcome) {
    const auto is_it = [&flight](const auto& other) { return other.get() == &flight; };
    if (const auto at = std::find_if(running_.begin(), running_.end(), is_it);
        at != running_.end()) {
        ended_.push_back(std::move(*at));
        running_.erase(at);
    } else {
        const auto queued = std::find_if(queue_.begin(), queue_.end(), is_it);
        PGB_CHECK(queued != queue_.end());
        ended_.push_back(std::move(*queued));
        queue_.erase(queued);
        // It was never sent, so no signal can come.
        outcome = CancelOutcome::failed;
    }
    reaper_.arm(loop_.now());
    start_next();
    flight.report(outcome);
}

}  // namespace pgb
