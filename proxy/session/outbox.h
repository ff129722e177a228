#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/base/instant.h"

namespace pgb {

/// What the session asks of the driver, in order.
enum class Decision : std::uint8_t {
    ask_permit,        ///< Arrive at the gate; the answer is on_permit() or on_refused().
    ask_housekeeping,  ///< The same, at the lane for housekeeping (may_use_own_lane()).
    ask_backend,       ///< A permit is held; the answer is on_backend_ready() or on_refused().
    ask_pin,           ///< The next message needs a backend of its own; the answer is on_pin().
    ask_workload,    ///< May the next message be of another workload? The answer is on_workload().
    leave_queue,     ///< Leave the gate's or the pool's queue; give the permit back if one is held.
    end_lease,       ///< The backend is clean: give it back, then the permit.
    keep_backend,    ///< The transaction is over, the pin stays: give the permit back only.
    unpin,           ///< The pin is no longer needed (before end_lease or close_backend).
    close_backend,   ///< The backend is not clean: end it, and only when it is gone the permit.
    drop_backend,    ///< The backend has ended: its place is free, and so is the permit.
    orphan_backend,  ///< The backend does not answer: close it; its permit stays held for a while.
    cancel_backend,  ///< Send a CancelRequest; on_cancel_closed() when that connection has closed.
    close_frontend,  ///< Close when everything written so far has been taken by the kernel.
};

/// The text of a statement, as far as it is known.
struct StatementText {
    std::string_view text = {};  ///< empty: it is not
    bool whole = true;           ///< false: it is the beginning of a longer one
};

/// What a call has noted about deadlines.
struct DeadlineNotes {
    std::uint32_t passed = 0;
    std::uint32_t garbled = 0;
};

/// What one call of a session machine wants done: bytes for both sides and decisions. The driver
/// owns one, hands it to each call, carries it out, and clears it. Views of input stay valid until
/// then; bytes of the proxy's own live in scratch strings whose memory is kept for the next call.
class Outbox {
public:
    /// An empty string whose contents may be handed to to_backend() or to_frontend() when complete.
    std::string& scratch() {
        if (scratch_used_ == scratch_.size()) {
            scratch_.push_back(std::make_unique<std::string>());
        }
        std::string& text = *scratch_[scratch_used_++];
        text.clear();
        return text;
    }

    void to_backend(std::string_view bytes) { append(backend_, bytes); }
    void to_frontend(std::string_view bytes) { append(frontend_, bytes); }
    /// A statement of the frontend's has taken so long.
    void note_statement(Duration took) { statements_.push_back(took); }
    /// A transaction was ended at its deadline, on a backend.
    void note_past_deadline() { ++deadlines_.passed; }
    /// A tag that should tell a deadline does not.
    void note_garbled_deadline() { ++deadlines_.garbled; }
    void decide(Decision decision) { decisions_.push_back(decision); }
    /// The statement that the permit, the pin or the workload is asked for.
    void about(const StatementText& subject) { subject_ = subject; }

    [[nodiscard]] const std::vector<std::string_view>& backend_bytes() const { return backend_; }
    [[nodiscard]] const std::vector<std::string_view>& frontend_bytes() const { return frontend_; }
    [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
    [[nodiscard]] const StatementText& subject() const { return subject_; }

    [[nodiscard]] const std::vector<Duration>& statements() const { return statements_; }

    /// What was noted about deadlines since it was taken last.
    [[nodiscard]] DeadlineNotes take_deadlines() { return std::exchange(deadlines_, {}); }

    void clear_statements() { statements_.clear(); }
    void clear_backend_bytes() { backend_.clear(); }
    void clear_frontend_bytes() { frontend_.clear(); }
    void clear_decisions() {
        decisions_.clear();
        subject_ = {};
    }
    void clear() {
        backend_.clear();
        frontend_.clear();
        decisions_.clear();
        statements_.clear();
        deadlines_ = {};
        subject_ = {};
        while (scratch_.size() > kScratchKept) scratch_.pop_back();
        scratch_used_ = 0;
    }

private:
    // More than any single message needs; a burst of refused pipelined statements may use more.
    static constexpr std::size_t kScratchKept = 16;

    // Adjacent views become one: what is forwarded unchanged leaves as one run of bytes.
    static void append(std::vector<std::string_view>& list, std::string_view bytes) {
        if (bytes.empty()) return;
        if (!list.empty() && list.back().data() + list.back().size() == bytes.data()) {
            list.back() = {list.back().data(), list.back().size() + bytes.size()};
            return;
        }
        list.push_back(bytes);
    }

    std::vector<std::string_view> backend_;
    std::vector<std::string_view> frontend_;
    std::vector<Decision> decisions_;
    std::vector<Duration> statements_;
    DeadlineNotes deadlines_;
    StatementText subject_;
    // Each at an address of its own: views of them are handed out.
    std::vector<std::unique_ptr<std::string>> scratch_;
    std::size_t scratch_used_ = 0;
};

}  // namespace pgb
