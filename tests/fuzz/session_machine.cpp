#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/session/session.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

const SessionTables& tables() {
    static StateTracking tracking;
    static const SessionTables kTables{frontend_heads(64), backend_heads(64), &tracking};
    return kTables;
}

/// A driver in miniature: it gives the answers that a session may get, in the order that the input
/// says, and holds the session to what it may ask for.
class Machine {
public:
    // A session with a backend for life, or one that asks for a backend each time; `watches`: texts
    // decide about its workloads.
    Machine(bool resident, bool watches) : watches_(watches), kept_(resident), pin_(resident) {
        if (watches) session_->class_by(ClassedBy::texts);
        if (resident) session_->become_resident(book_, rules_);
    }

    // One byte says what happens next; some take more of the input.
    void step(std::uint8_t what, std::string_view& input) {
        if (what % 3 == 0) rest_if_it_may();
        switch (what % 16) {
            case 0:
            case 1:
            case 2: return frontend_bytes(what, input);
            case 3:
            case 4:
            case 5: return backend_bytes(what, input);
            case 6: return answer(true, what >= 128);
            case 7: return answer(false, false);
            case 8: session_->on_cancel_request(turn(), out_); return finish();
            case 9:
                if (!cancel_in_flight_) return;
                cancel_in_flight_ = false;
                session_->on_cancel_closed(what >= 128, turn(), out_);
                return finish();
            case 10: session_->on_backend_lost(turn(), out_); return finish();
            case 11:
                session_->on_frontend_gone(what >= 128 ? Leaving::goodbye : Leaving::reset, turn(),
                                           out_);
                return finish();
            case 12: session_->on_drain(turn(), out_); return finish();
            case 13: contended_ = what >= 128; return;
            default:
                now_ = now_ + std::chrono::milliseconds(1U << (what >> 4));
                session_->on_tick(turn(), what % 2 == 0, out_);
                return finish();
        }
    }

private:
    // A session at rest is one that may be made anew.
    void rest_if_it_may() {
        if (!session_->is_at_rest()) return;
        const SessionSeed seed = session_->seed();
        session_ = std::make_unique<Session>(tables(), statements_, seed);
        if (watches_) session_->class_by(ClassedBy::texts);
    }

    [[nodiscard]] Turn turn() const { return {now_, contended_}; }

    static std::string_view piece(std::uint8_t what, std::string_view& input) {
        const std::size_t size = std::min<std::size_t>(1U + what / 4U, input.size());
        const std::string_view taken = input.substr(0, size);
        input.remove_prefix(size);
        return taken;
    }

    void frontend_bytes(std::uint8_t what, std::string_view& input) {
        input_ += piece(what, input);
        feed();
    }

    void feed() {
        while (!input_.empty() && session_->takes_input()) {
            const std::string view = input_;
            const std::size_t used = session_->on_frontend(view, turn(), out_);
            require(used <= view.size());
            input_.erase(0, used);
            const bool decided = !out_.decisions().empty();
            finish();
            if (used == 0 && !decided) return;
        }
    }

    void backend_bytes(std::uint8_t what, std::string_view& input) {
        if (!session_->has_backend()) return;
        replies_ += piece(what, input);
        const std::string view = replies_;
        const std::size_t used = session_->on_backend(view, turn(), out_);
        require(used <= view.size());
        replies_.erase(0, used);
        finish();
        feed();
    }

    // The gate's or the pool's word on what was asked. `another`: a backend on which nothing is set.
    void answer(bool good, bool another) {
        ShedFacts facts;
        facts.workload = "fuzz";
        facts.sqlstate = "40001";
        if (asked_permit_) {
            asked_permit_ = false;
            if (good) {
                permit_ = true;
                session_->on_permit(rules_, turn(), out_);
            } else {
                session_->on_refused(facts);
            }
        } else if (asked_backend_) {
            asked_backend_ = false;
            if (good || session_->has_backend()) {
                leased_ = true;
                if (another && !kept_) book_ = {};
                session_->on_backend_ready(book_, turn(), out_);
            } else {
                permit_ = false;
                session_->on_refused(facts);
            }
        }
        finish();
        feed();
    }

    void finish() {
        for (std::size_t i = 0; i < out_.decisions().size(); ++i) decide(out_.decisions()[i]);
        // Bytes of the proxy's own may go to a kept backend without a permit once its client left.
        if (!out_.backend_bytes().empty() && !leased_) {
            require(session_->state() == SessionState::winding_up || ended_now_);
        }
        ended_now_ = false;
        if (session_->state() == SessionState::closed) {
            require(!leased_ && !kept_ && !pin_);
        }
        out_.clear();
    }

    void decide(Decision decision) {
        switch (decision) {
            case Decision::ask_permit:
            case Decision::ask_housekeeping:
                require(!permit_ && !asked_permit_);
                asked_permit_ = true;
                return;
            case Decision::ask_backend:
                require(permit_ && !asked_backend_);
                asked_backend_ = true;
                return;
            case Decision::ask_pin:
                if (!pin_ && now_.since_start().count() % 3 != 0) {
                    pin_ = true;
                    session_->on_pin_granted(turn(), out_);
                } else {
                    require(!pin_);
                    ShedFacts facts;
                    facts.reason = ShedReason::pin_limit;
                    session_->on_pin_denied(facts, turn(), out_);
                }
                return;
            case Decision::ask_workload:
                require(leased_);
                session_->on_workload(out_.subject().text.size() % 3 != 0);
                return;
            case Decision::leave_queue:
                require(asked_permit_ || asked_backend_);
                asked_permit_ = asked_backend_ = permit_ = false;
                return;
            case Decision::unpin:
                require(pin_);
                pin_ = false;
                return;
            case Decision::keep_backend:
                require(leased_ && pin_);
                leased_ = permit_ = false;
                kept_ = ended_now_ = true;
                return;
            case Decision::end_lease: require(!cancel_in_flight_); [[fallthrough]];
            case Decision::close_backend:
            case Decision::drop_backend:
            case Decision::orphan_backend:
                require(leased_ || kept_ || permit_);
                ended_now_ = true;
                leased_ = kept_ = cancel_in_flight_ = false;
                if (!asked_permit_) permit_ = false;
                replies_.clear();
                return;
            case Decision::cancel_backend:
                require(leased_ || kept_);
                require(!cancel_in_flight_);
                cancel_in_flight_ = true;
                return;
            case Decision::close_frontend: return;
        }
    }

    StatementRegistry statements_;
    std::unique_ptr<Session> session_ = std::make_unique<Session>(tables(), statements_);
    Outbox out_;
    BackendBook book_;
    LeaseRules rules_{.holder_idle = std::chrono::milliseconds(40),
                      .transaction = std::chrono::milliseconds(70),
                      .cancel_after_leave = std::chrono::milliseconds(8),
                      .reset_timeout = std::chrono::milliseconds(20),
                      .cancel_timeout = std::chrono::milliseconds(30)};
    std::string input_;
    std::string replies_;
    Instant now_{std::chrono::seconds(1)};
    bool contended_ = false;
    bool watches_;
    bool asked_permit_ = false;
    bool asked_backend_ = false;
    bool permit_ = false;
    bool leased_ = false;
    bool kept_ = false;
    bool pin_ = false;
    bool cancel_in_flight_ = false;
    bool ended_now_ = false;  // bytes of this call were written before its lease ended
};

}  // namespace

// A program of events and bytes, in any order that a driver could deliver them in: the session
// never breaks a check of its own, consumes no more than it was given, and asks for nothing that
// its drawing does not allow.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // By the last byte, which is nearly always data and no step.
    const std::uint8_t last = size > 0 ? data[size - 1] : 0;
    Machine machine(last % 8 == 7, last % 2 == 1);
    std::string_view input(reinterpret_cast<const char*>(data), size);
    while (!input.empty()) {
        const auto what = static_cast<std::uint8_t>(input.front());
        input.remove_prefix(1);
        machine.step(what, input);
    }
    return 0;
}
