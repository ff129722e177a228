#include "proxy/session/reply_ledger.h"

#include <cstring>

#include "proxy/base/check.h"

namespace pgb {

namespace {
constexpr std::uint8_t kOwnBit = 0x80;
constexpr std::uint8_t kNotedBit = 0x40;
constexpr std::uint8_t kOwedBits = 0x3f;

bool is_extended(Owed what) {
    switch (what) {
        case Owed::parse:
        case Owed::bind:
        case Owed::describe_statement:
        case Owed::describe_portal:
        case Owed::execute:
        case Owed::close: return true;
        case Owed::query:
        case Owed::function_call:
        case Owed::sync:
        case Owed::copy_end: return false;
    }
    return false;
}

bool ends_in_ready(Owed what) {
    return what == Owed::query || what == Owed::function_call || what == Owed::sync;
}
}  // namespace

void ByteRow::push(std::uint8_t byte) {
    if (size_ == capacity_) grow();
    data()[index(size_)] = byte;
    ++size_;
}

void ByteRow::pop() {
    PGB_CHECK(size_ > 0);
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
}

void ByteRow::clear() {
    heap_.reset();
    capacity_ = kInline;
    head_ = size_ = 0;
}

void ByteRow::grow() {
    auto bigger = std::make_unique<std::uint8_t[]>(std::size_t{capacity_} * 2);
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = data()[index(i)];
    heap_ = std::move(bigger);
    capacity_ *= 2;
    head_ = 0;
}

std::uint8_t ReplyLedger::pack(Owed what, Origin origin, Note note) {
    const int own = origin == Origin::own ? kOwnBit : 0;
    const int noted = note == Note::noted ? kNotedBit : 0;
    return static_cast<std::uint8_t>(static_cast<int>(what) | own | noted);
}

Owed ReplyLedger::what(std::size_t at) const { return static_cast<Owed>(row_[at] & kOwedBits); }

Origin ReplyLedger::origin(std::size_t at) const {
    return (row_[at] & kOwnBit) != 0 ? Origin::own : Origin::frontend;
}

bool ReplyLedger::noted(std::size_t at) const { return (row_[at] & kNotedBit) != 0; }

void ReplyLedger::owe(Owed what, Origin origin, Note note) {
    if (what == Owed::sync) {
        if (copying_in_) {
            ++eaten_;
            return;
        }
        skipping_ = false;
        unsynced_ = frontend_unsynced_ = false;
        row_.push(pack(what, origin, note));
        return;
    }
    if (what == Owed::copy_end) {
        // Outside a COPY the server drops it; behind messages it has not read yet, one of them may
        // turn out to be the COPY that it ends.
        if (copying_in_) {
            copying_in_ = false;
        } else if (!row_.empty() && !skipping_) {
            row_.push(pack(what, origin, note));
        }
        return;
    }
    if (skipping_) return;
    // A Query or FunctionCall ends the batch before it as a Sync would, unless an error in the
    // batch makes the server throw it away.
    unsynced_ = is_extended(what);
    // The proxy's own BEGIN needs no Sync: the end of its block leaves the server well.
    ended_without_sync_ = ended_without_sync_ || (frontend_unsynced_ && !unsynced_);
    frontend_unsynced_ = unsynced_ && (frontend_unsynced_ || origin == Origin::frontend);
    row_.push(pack(what, origin, note));
}

bool ReplyLedger::next_is_own() const {
    return !row_.empty() && origin(0) == Origin::own && !noted(0);
}

bool ReplyLedger::next_is_noted() const { return !row_.empty() && noted(0); }

std::size_t ReplyLedger::frontend_syncs() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < row_.size(); ++i) {
        if (ends_in_ready(what(i)) && origin(i) == Origin::frontend) ++count;
    }
    return count;
}

bool ReplyLedger::has_sync() const {
    for (std::size_t i = 0; i < row_.size(); ++i) {
        if (ends_in_ready(what(i))) return true;
    }
    return false;
}

void ReplyLedger::adopt_sync() {
    PGB_CHECK(!row_.empty() && what(0) == Owed::sync);
    row_[0] = pack(Owed::sync, Origin::own, Note::none);
}

void ReplyLedger::clear() {
    row_.clear();
    noted_ = {};
    eaten_ = uncertain_ = 0;
    skipping_ = copying_in_ = unsynced_ = error_told_ = false;
    frontend_unsynced_ = ended_without_sync_ = false;
}

void ReplyLedger::pop() {
    if (noted(0)) noted_.answered = true;
    row_.pop();
    // A CopyDone or CopyFail that the server reads outside a COPY leaves no trace.
    while (!row_.empty() && what(0) == Owed::copy_end) row_.pop();
}

Ruling ReplyLedger::ruling_of_head() const {
    return origin(0) == Origin::own ? Ruling::swallow : Ruling::forward;
}

Ruling ReplyLedger::answer(Owed expected) {
    if (row_.empty() || what(0) != expected) return Ruling::unexpected;
    const Ruling ruling = ruling_of_head();
    pop();
    return ruling;
}

Ruling ReplyLedger::within_run(bool allow_function_call) {
    if (row_.empty()) return Ruling::unexpected;
    const Owed head = what(0);
    if (head == Owed::query || head == Owed::execute) return ruling_of_head();
    if (allow_function_call && head == Owed::function_call) return ruling_of_head();
    return Ruling::unexpected;
}

Ruling ReplyLedger::on_execute_done() {
    if (row_.empty()) return Ruling::unexpected;
    // The COPY, if this was one, succeeded: its Syncs were eaten for certain.
    eaten_ = 0;
    if (what(0) == Owed::query) return ruling_of_head();
    return answer(Owed::execute);
}

Ruling ReplyLedger::on_description(bool rows) {
    if (row_.empty()) return Ruling::unexpected;
    const Owed head = what(0);
    if (rows && head == Owed::query) return ruling_of_head();
    if (head != Owed::describe_statement && head != Owed::describe_portal) {
        return Ruling::unexpected;
    }
    return answer(head);
}

Ruling ReplyLedger::on_copy_in() {
    const Ruling ruling = within_run(false);
    if (ruling == Ruling::unexpected) return ruling;
    // What was sent behind the command is read as COPY data from here on: Syncs are eaten up to
    // CopyDone or CopyFail. Anything else in between breaks the protocol, and the server says so.
    const std::uint8_t head = row_[0];
    row_.pop();
    bool ended = false;
    while (!row_.empty() && !ended) {
        if (what(0) == Owed::copy_end) {
            ended = true;
        } else if (what(0) == Owed::sync) {
            ++eaten_;
        } else {
            break;
        }
        row_.pop();
    }
    copying_in_ = !ended && row_.empty();
    if (eaten_ > 0 && is_extended(static_cast<Owed>(head & kOwedBits)) && !has_sync()) {
        unsynced_ = true;
    }
    // Back to the front: rotate what is left behind it.
    const std::size_t rest = row_.size();
    row_.push(head);
    for (std::size_t i = 0; i < rest; ++i) {
        const std::uint8_t moved = row_[0];
        row_.pop();
        row_.push(moved);
    }
    return ruling;
}

void ReplyLedger::skip_to_sync() {
    while (!row_.empty() && what(0) != Owed::sync) {
        if (noted(0)) ++noted_.skipped;
        row_.pop();
    }
    skipping_ = row_.empty();
    if (skipping_) unsynced_ = true;
}

Ruling ReplyLedger::on_error() {
    if (row_.empty()) return Ruling::unexpected;
    const bool own = next_is_own();
    error_told_ = !own;
    uncertain_ += eaten_;
    eaten_ = 0;
    copying_in_ = false;
    if (is_extended(what(0))) skip_to_sync();
    return own ? Ruling::own_error : Ruling::forward;
}

Ruling ReplyLedger::on_ready() {
    error_told_ = false;
    const bool expected = !row_.empty() && ends_in_ready(what(0));
    if (!expected) {
        if (uncertain_ == 0) return Ruling::unexpected;
        --uncertain_;
        // The server has read that Sync, so it no longer skips.
        if (row_.empty()) skipping_ = unsynced_ = false;
        return Ruling::forward;
    }
    const Ruling ruling = ruling_of_head();
    copying_in_ = false;
    eaten_ = 0;
    pop();
    return ruling;
}

Ruling ReplyLedger::on_reply(BackendType type) {
    switch (type) {
        case BackendType::parse_complete: return answer(Owed::parse);
        case BackendType::bind_complete: return answer(Owed::bind);
        case BackendType::close_complete: return answer(Owed::close);
        case BackendType::parameter_description:
            return !row_.empty() && what(0) == Owed::describe_statement ? ruling_of_head()
                                                                        : Ruling::unexpected;
        case BackendType::row_description: return on_description(true);
        case BackendType::no_data: return on_description(false);
        case BackendType::data_row:
        case BackendType::copy_out_response:
        case BackendType::copy_data:
        case BackendType::copy_done: return within_run(false);
        case BackendType::copy_in_response: return on_copy_in();
        case BackendType::command_complete:
        case BackendType::empty_query_response:
        case BackendType::portal_suspended: return on_execute_done();
        case BackendType::function_call_response:
            return !row_.empty() && what(0) == Owed::function_call ? ruling_of_head()
                                                                   : Ruling::unexpected;
        case BackendType::error_response: return on_error();
        case BackendType::ready_for_query: return on_ready();
        case BackendType::authentication:
        case BackendType::backend_key_data:
        case BackendType::parameter_status:
        case BackendType::notice_response:
        case BackendType::notification_response:
        case BackendType::copy_both_response:
        case BackendType::negotiate_protocol_version: return Ruling::unexpected;
    }
    return Ruling::unexpected;
}

}  // namespace pgb
