#include "proxy/io/cancel_sender.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/native_cancel.h"
#include "proxy/io/plain_cancel.h"
#include "proxy/io/tls_cancel.h"

namespace pgb {

/// One request: its place, its deadline, its outcome.
///
///     QUEUED -> under way (an errand) -> outcome -> reported by the timer
///
/// An outcome that is known at once still waits for the timer, so that `done` never comes inside
/// send() and no errand dies inside its own event.
class CancelSender::Flight final {
public:
    Flight(CancelSender& sender, CancelTarget target, Instant deadline, Done done)
        : sender_(sender),
          target_(std::move(target)),
          done_(std::move(done)),
          timer_(sender.loop_, [this] { on_timer(); }) {
        timer_.arm(deadline);
    }
    ~Flight() = default;
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    void start();
    void report(CancelOutcome outcome, const std::string& why) { done_(outcome, why); }

private:
    void end(CancelOutcome outcome, std::string why) {
        PGB_CHECK(!outcome_);
        outcome_ = outcome;
        why_ = std::move(why);
        timer_.arm(sender_.loop_.now());
    }
    void on_timer();

    CancelSender& sender_;
    CancelTarget target_;
    Done done_;
    Timer timer_;
    std::unique_ptr<CancelErrand> errand_;
    std::optional<CancelOutcome> outcome_;
    std::string why_;
};

void CancelSender::Flight::start() {
    Loop& loop = sender_.loop_;
    const auto on_end = [this](CancelOutcome outcome, std::string why) {
        end(outcome, std::move(why));
    };
    if (target_.native != nullptr) {
        errand_ = std::make_unique<NativeCancel>(loop, std::move(target_.native), on_end);
    } else if (target_.pid == 0 || target_.key.empty()) {
        return end(CancelOutcome::no_key, "the server gave no key, or libpq does not show it");
    } else if (target_.tls != nullptr) {
        errand_ = std::make_unique<TlsCancel>(loop, target_, on_end);
    } else {
        errand_ = std::make_unique<PlainCancel>(loop, target_, on_end);
    }
    errand_->start();
}

void CancelSender::Flight::on_timer() {
    if (!outcome_) {
        // Without an errand it was never sent, so no signal can come.
        const bool may_come = errand_ != nullptr && errand_->may_have_arrived();
        outcome_ = may_come ? CancelOutcome::timed_out : CancelOutcome::failed;
        why_ = may_come             ? "the server did not close in time"
               : errand_ != nullptr ? "no connection in time"
                                    : "no place in time";
    }
    errand_.reset();
    sender_.finish(*this, *outcome_, why_);
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

void CancelSender::finish(Flight& flight, CancelOutcome outcome, const std::string& why) {
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
    }
    reaper_.arm(loop_.now());
    start_next();
    flight.report(outcome, why);
}

}  // namespace pgb
