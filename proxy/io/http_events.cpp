#include "proxy/io/http_events.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "proxy/io/clock.h"

namespace pgb {

namespace {

// A line that begins with a colon means nothing.
constexpr std::string_view kHeartbeat = ":\n\n";
// How long a browser waits before it connects anew, in milliseconds.
constexpr std::string_view kRetry = "retry: 1000\n\n";
// What one readiness may bring; nobody has anything to say here.
constexpr std::size_t kReadSize = 4096;

}  // namespace

EventStreams::EventStreams(Source source, Pace pace)
    : source_(std::move(source)), pace_(pace), wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::thread([this] { run(); });
}

EventStreams::~EventStreams() {
    ending_ = true;
    wake();
    thread_.join();
    take_newcomers();
    for (const Stream& stream : streams_) close(stream.fd);
    close(wake_fd_);
}

bool EventStreams::reserve() {
    if (places_taken_.fetch_add(1) < kStreamsMax) return true;
    give_back();
    return false;
}

void EventStreams::give_back() { places_taken_.fetch_sub(1); }

void EventStreams::adopt(int fd, std::unique_ptr<TlsStream> tls) {
    {
        const std::lock_guard lock(mutex_);
        newcomers_.push_back({.fd = fd, .tls = std::move(tls)});
    }
    wake();
}

void EventStreams::wake() const {
    const std::uint64_t one = 1;
    // It fails only when nobody has read the wakes before: then it is awake.
    (void)!write(wake_fd_, &one, sizeof one);
}

void EventStreams::run() {
    Instant next = monotonic_now();
    while (!ending_) {
        wait(streams_.empty() ? Instant::never() : next);
        if (ending_) return;
        const bool was_idle = streams_.empty();
        take_newcomers();
        const Instant now = monotonic_now();
        if (was_idle) next = now + pace_.interval;
        if (now >= next) {
            send_all(now);
            next = monotonic_now() + pace_.interval;
        }
        remove_ended();
    }
}

void EventStreams::wait(Instant until) {
    std::vector<pollfd> watched{{.fd = wake_fd_, .events = POLLIN, .revents = 0}};
    for (const Stream& stream : streams_) {
        const int events = stream.unsent.empty() ? POLLIN : POLLIN | POLLOUT;
        watched.push_back({.fd = stream.fd, .events = static_cast<short>(events), .revents = 0});
    }
    int milliseconds = -1;
    if (!until.is_never()) {
        const Duration left = std::max(until - monotonic_now(), Duration::zero());
        milliseconds = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
    }
    if (poll(watched.data(), watched.size(), milliseconds) <= 0) return;
    std::uint64_t wakes = 0;
    if (watched[0].revents != 0) (void)!read(wake_fd_, &wakes, sizeof wakes);
    const Instant now = monotonic_now();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const short ready = watched[i + 1].revents;
        if ((ready & POLLOUT) != 0) push(streams_[i], now);
        if ((ready & ~POLLOUT) != 0) read_from(streams_[i]);
    }
}

// They are told at once what there is.
void EventStreams::take_newcomers() {
    std::vector<Stream> newcomers;
    {
        const std::lock_guard lock(mutex_);
        newcomers.swap(newcomers_);
    }
    if (newcomers.empty()) return;
    const std::string frame = ending_ ? std::string() : std::string(kRetry) + next_frame(true);
    const Instant now = monotonic_now();
    for (Stream& stream : newcomers) {
        send(stream, frame, now);
        streams_.push_back(std::move(stream));
    }
}

std::string EventStreams::next_frame(bool is_first) {
    std::string frame = source_(is_first);
    return frame.empty() ? std::string(kHeartbeat) : frame;
}

void EventStreams::send_all(Instant now) {
    if (streams_.empty()) return;
    const std::string frame = next_frame(false);
    for (Stream& stream : streams_) {
        if (stream.unsent.empty()) {
            send(stream, frame, now);
        } else if (now - stream.stuck_since >= pace_.patience) {
            stream.is_over = true;
        }
    }
}

void EventStreams::send(Stream& stream, std::string_view frame, Instant now) {
    stream.unsent = frame;
    stream.stuck_since = now;
    push(stream, now);
}

void EventStreams::push(Stream& stream, Instant now) {
    std::string_view left = stream.unsent;
    while (!left.empty() && !stream.is_over) {
        const WriteResult result =
            stream.tls != nullptr ? stream.tls->write({&left, 1}) : write_fd(stream.fd, {&left, 1});
        if (result.status == IoStatus::would_block) break;
        if (result.status != IoStatus::bytes) stream.is_over = true;
        if (result.count > 0) stream.stuck_since = now;
        left.remove_prefix(result.count);
    }
    stream.unsent = std::string(left);
}

void EventStreams::read_from(Stream& stream) {
    std::array<char, kReadSize> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const ReadResult result =
        stream.tls != nullptr ? stream.tls->read(bytes) : read_fd(stream.fd, bytes);
    if (result.status == IoStatus::eof || result.status == IoStatus::error) stream.is_over = true;
}

void EventStreams::remove_ended() {
    std::erase_if(streams_, [this](Stream& stream) {
        if (!stream.is_over) return false;
        if (stream.tls != nullptr) stream.tls->say_end();
        close(stream.fd);
        give_back();
        return true;
    });
}

}  // namespace pgb
