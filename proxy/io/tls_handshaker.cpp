#include "proxy/io/tls_handshaker.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/io/waker.h"

namespace pgb {

namespace {

// With a third of the loop's weight where both want the last processor: logins go on, and those who
// are in come first.
constexpr int kNice = 5;

struct Job {
    std::uint64_t id = 0;
    std::unique_ptr<TlsStream> stream;
    HandshakeStep step = HandshakeStep::more;
};

}  // namespace

struct TlsHandshaker::State {
    State(Loop& loop, Done given) : done(std::move(given)), waker(loop, [this] { deliver(); }) {}

    void deliver();  // on the loop's thread
    void work();     // on its own

    Done done;
    std::mutex mutex;  // guards the next four
    std::condition_variable changed;
    std::deque<Job> waiting;
    std::vector<Job> ready;
    bool ending = false;
    Waker waker;
    std::thread thread;
};

void TlsHandshaker::State::deliver() {
    std::vector<Job> arrived;
    {
        const std::lock_guard lock(mutex);
        arrived.swap(ready);
    }
    for (Job& job : arrived) done(job.id, std::move(job.stream), job.step);
}

void TlsHandshaker::State::work() {
    // On Linux a thread has a niceness of its own. That it can't be had harms nobody.
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
    std::unique_lock lock(mutex);
    for (;;) {
        changed.wait(lock, [this] { return !waiting.empty() || ending; });
        if (ending) return;
        Job job = std::move(waiting.front());
        waiting.pop_front();
        lock.unlock();
        job.step = job.stream->advance();
        lock.lock();
        ready.push_back(std::move(job));
        if (ready.size() == 1) waker.wake();
    }
}

TlsHandshaker::TlsHandshaker(Loop& loop, Done done)
    : state_(std::make_unique<State>(loop, std::move(done))) {
    state_->thread = std::thread([state = state_.get()] { state->work(); });
}

TlsHandshaker::~TlsHandshaker() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->ending = true;
    }
    state_->changed.notify_one();
    state_->thread.join();
}

void TlsHandshaker::advance(std::uint64_t id, std::unique_ptr<TlsStream> stream) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->waiting.push_back({id, std::move(stream)});
    }
    state_->changed.notify_one();
}

}  // namespace pgb
