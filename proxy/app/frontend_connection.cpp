#include "proxy/app/frontend_connection.h"

#include "protocol/sqlstate.h"
#include "proxy/app/backend_connection.h"
#include "proxy/app/database.h"
#include "proxy/app/server.h"
#include "proxy/app/spare_buffers.h"

namespace pgb {

namespace {
// A message that must be seen whole and a read behind it; past it the kernel's buffers hold the
// rest back.
constexpr std::size_t kReadAhead = std::size_t{64} << 10;
}  // namespace

FrontendConnection::FrontendConnection(Server& server, std::uint64_t id, int fd,
                                       const DoorFacts& door, std::string peer)
    : server_(server),
      link_(server.loop(), fd, *this),
      session_(server.awake_sessions()),
      login_(std::make_unique<Login>(door.tls != nullptr)),
      door_(door),
      peer_(std::move(peer)),
      id_(id),
      opened_at_(server.now()) {
    link_.watch(true, false);
}

FrontendConnection::~FrontendConnection() {
    if (database_ != nullptr) {
        database_->pool().forget_waiter(*this);
        database_->pool().leave(group_);
    }
    if (pid_ != 0) server_.cancel_keys().revoke(pid_, id_);
}

void FrontendConnection::on_ready(bool readable, bool writable) {
    readable_ = readable_ || readable;
    writable_ = writable_ || writable;
    server_.mark_ready(*this);
}

Turn FrontendConnection::turn() const {
    const bool lane_waits =
        server_.gate().stats(LaneId{static_cast<std::uint16_t>(workload_)}).waiting > 0;
    return {server_.now(),
            lane_waits || (database_ != nullptr && database_->pool().waiting_count() > 0)};
}

void FrontendConnection::work() {
    if (link_.is_handshaking()) {
        readable_ = writable_ = false;
        go_on_with_handshake();
        return;
    }
    const bool goes_on = phase_ == FrontendPhase::session || phase_ == FrontendPhase::console;
    if (goes_on && !input_.empty()) pump();
    if (writable_) {
        writable_ = false;
        const std::size_t waited = output_.size();
        if (!broken_ && !output_.drain([this](auto segments) { return link_.write(segments); })) {
            broken();
        }
        if (output_.size() < waited) session_.note_frontend_activity(server_.now());
        note_output();
        if (phase_ == FrontendPhase::console) pump_console();
    }
    if (readable_) {
        readable_ = false;
        if (!is_dead() && !broken_ && !eof_) read();
    }
}

void FrontendConnection::read() {
    const std::span<char> buffer = server_.read_buffer();
    const ReadResult result = link_.read(buffer);
    switch (result.status) {
        case IoStatus::would_block: return;
        case IoStatus::eof: on_eof(); return;
        case IoStatus::error: broken(); return;
        case IoStatus::bytes: break;
    }
    server_.totals().bytes_from_clients += result.count;
    session_.note_frontend_activity(server_.now());
    read_pending_later();
    const std::string_view bytes(buffer.data(), result.count);
    if (input_.empty()) {
        // Straight from the shared buffer; only what is not taken is copied.
        const FrontendPhase before = phase_;
        keep_input(bytes.substr(feed(bytes)));
        // What came behind the startup packet is the new session's.
        if (phase_ != before && !input_.empty()) server_.mark_ready(*this);
    } else {
        input_ += bytes;
        pump();
    }
}

std::size_t FrontendConnection::feed(std::string_view view) {
    switch (phase_) {
        case FrontendPhase::login: return feed_login(view);
        case FrontendPhase::session: return feed_session(view);
        case FrontendPhase::console: return feed_console(view);
        case FrontendPhase::cancelling:
        case FrontendPhase::dead: return view.size();
    }
    return view.size();
}

void FrontendConnection::pump() {
    if (is_dead() || input_.empty()) {
        deliver_eof();
        return;
    }
    input_at_ += feed(std::string_view(input_).substr(input_at_));
    drop_taken_input();
    deliver_eof();
    update_reading();
}

void FrontendConnection::keep_input(std::string_view rest) {
    if (is_dead() || rest.empty()) return;
    server_.spare_buffers().lend_to(input_);
    input_.assign(rest);
    input_at_ = 0;
    update_reading();
}

void FrontendConnection::drop_taken_input() {
    if (input_at_ >= input_.size()) {
        server_.spare_buffers().give_back(input_);
        input_at_ = 0;
    } else if (input_at_ >= kReadAhead) {
        input_.erase(0, input_at_);
        input_at_ = 0;
    }
}

std::size_t FrontendConnection::feed_session(std::string_view view) {
    std::size_t used = 0;
    Outbox& out = server_.outbox();
    while (used < view.size() && session_->takes_input() && !is_dead()) {
        const std::size_t taken = session_->on_frontend(view.substr(used), turn(), out);
        used += taken;
        const bool decided = !out.decisions().empty();
        if (taken == 0 && !decided) break;
        // Bytes leave together with those of the next call unless something was decided.
        if (decided) carry_out_decisions();
    }
    carry_out();
    return is_dead() ? view.size() : used;
}

// The end of the stream comes behind everything that was sent before it, unless that waits in a
// queue: then its work never starts.
void FrontendConnection::deliver_eof() {
    if (!eof_ || phase_ != FrontendPhase::session) return;
    const SessionState state = session_.state();
    if (state == SessionState::winding_up || state == SessionState::closed) return;
    // With a permit it was admitted, and what it has sent runs when its backend comes.
    const bool waits = state == SessionState::queued;
    if (!input_.empty() && !session_->takes_input() && !waits) return;
    drop_input();
    session_->on_frontend_gone(Leaving::goodbye, turn(), server_.outbox());
    carry_out();
}

void FrontendConnection::update_reading() {
    // Nothing waits anywhere: the rule, and decided by what is at hand.
    const bool calm = input_.empty() && output_.empty() && !eof_ &&
                      (backend_ == nullptr || backend_->unsent() == 0);
    if (calm && reads_freely_) return;
    if (is_dead() || broken_ || !link_.is_open() || link_.is_handshaking()) return;
    reads_freely_ = calm;
    const config::Limits& limits = server_.config().limits;
    const bool full = input_.size() - input_at_ >= limits.max_message_buffer + kReadAhead;
    const bool backend_full = backend_ != nullptr && backend_->unsent() > limits.high_watermark;
    // With a backend its replies are held back where they come from, and a frontend that writes all
    // it has before it reads may go on, as it may with PostgreSQL. Without one the replies are ours.
    const bool replies_wait = backend_ == nullptr && output_.size() > limits.high_watermark;
    link_.watch(!eof_ && !full && !backend_full && !replies_wait, !output_.empty());
    read_pending_later();
}

bool FrontendConnection::output_is_blocked() const { return !output_.empty(); }

void FrontendConnection::on_eof() {
    eof_ = true;
    update_reading();
    switch (phase_) {
        case FrontendPhase::login: die(); return;
        case FrontendPhase::session: pump(); return;
        case FrontendPhase::console: end_console(); return;
        // Its client does not wait for the effect of its cancel; nothing hangs on it.
        case FrontendPhase::cancelling: die(); return;
        case FrontendPhase::dead: return;
    }
}

// A Terminate is the last thing a client sends.
bool FrontendConnection::said_goodbye() const {
    return std::string_view(input_).substr(input_at_).ends_with(std::string_view("X\0\0\0\4", 5));
}

// Reads and writes are of no use any more. What that means for the session is delivered later: this
// may happen in the middle of carrying out its decisions.
void FrontendConnection::cut_off() {
    if (broken_) return;
    broken_ = true;
    reset_pending_ = true;
    output_.clear();
    link_.close();
    // Nobody reads any more, so nothing holds the backend back.
    if (backend_ != nullptr) backend_->update_reading();
}

void FrontendConnection::broken() {
    cut_off();
    carry_out();
    pump();
}

void FrontendConnection::deliver_reset() {
    if (!reset_pending_) return;
    reset_pending_ = false;
    if (phase_ != FrontendPhase::session) {
        die();
        return;
    }
    // After its goodbye a client may close without reading: what it asked for is not cut short.
    if (said_goodbye()) eof_ = true;
    if (eof_ || session_.state() == SessionState::winding_up) return;
    drop_input();
    session_->on_frontend_gone(Leaving::reset, turn(), server_.outbox());
}

void FrontendConnection::send_to_frontend() {
    Outbox& out = server_.outbox();
    const auto& segments = out.frontend_bytes();
    if (segments.empty()) return;
    const std::span<const std::string_view> all(segments);
    bool sent = true;
    if (!broken_ && !is_dead()) {
        for (const std::string_view segment : all) {
            server_.totals().bytes_to_clients += segment.size();
        }
        sent = output_.send(all, [this](auto part) { return link_.write(part); });
    }
    out.clear_frontend_bytes();
    if (!sent) {
        cut_off();
    } else if (!output_.empty()) {
        note_output();
    }
}

// Outside a session: what is said is said at once, and a broken connection ends with it.
void FrontendConnection::say(const std::string& reply) {
    server_.outbox().to_frontend(reply);
    send_to_frontend();
    server_.outbox().clear();
    if (broken_) die();
}

void FrontendConnection::note_output() {
    if (is_dead() || broken_) return;
    if (output_.empty() && close_when_flushed_) {
        finish_closing();
        return;
    }
    update_reading();
    if (backend_ != nullptr) backend_->update_reading();
}

void FrontendConnection::finish_closing() {
    link_.shutdown_write();
    link_.close();
    broken_ = true;
    if (backend_ != nullptr) backend_->update_reading();
    // Its work may still be going on; then the session ends first.
    if (phase_ != FrontendPhase::session || session_.state() == SessionState::closed) die();
}

void FrontendConnection::close_soon() {
    close_when_flushed_ = true;
    if (output_.empty()) die();
}

void FrontendConnection::die() {
    if (is_dead()) return;
    if (phase_ == FrontendPhase::login) server_.login_finished(*this);
    if (phase_ == FrontendPhase::console) server_.consoles().end(id_);
    phase_ = FrontendPhase::dead;
    broken_ = true;
    free_memory(input_);
    output_.clear();
    link_.close();
    server_.note_dead(*this);
}

}  // namespace pgb
