#include "proxy/app/backend_connection.h"

#include <cerrno>

#include "protocol/cursor.h"
#include "protocol/framer.h"
#include "protocol/message_type.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/app/spare_buffers.h"
#include "proxy/base/check.h"

namespace pgb {

BackendConnection::BackendConnection(Server& server, Database& database, BackendId id,
                                     GroupId group, BackendLink link)
    : server_(server),
      database_(database),
      link_(std::move(link)),
      socket_(server.loop(), link_.fd(), *this, FdOwner::borrowed),
      id_(id),
      group_(group) {
    socket_.watch(true, false);
}

void BackendConnection::on_ready(bool readable, bool writable) {
    readable_ = readable_ || readable;
    writable_ = writable_ || writable;
    server_.mark_ready(*this);
}

void BackendConnection::attach(FrontendConnection& user) {
    PGB_CHECK(user_ == nullptr && !dead_ && !closing_);
    user_ = &user;
}

void BackendConnection::detach() {
    user_ = nullptr;
    if (!input_.empty()) unfit_ = true;
    free_memory(input_);
    update_reading();
}

void BackendConnection::update_reading() {
    if (dead_ || !socket_.is_open()) return;
    const std::size_t mark = server_.config().limits.high_watermark;
    const bool frontend_full = user_ != nullptr && user_->unsent() > mark;
    socket_.watch(!frontend_full, !output_.empty());
}

bool BackendConnection::send(std::span<const std::string_view> segments) {
    for (const std::string_view segment : segments) {
        server_.totals().bytes_to_backends += segment.size();
    }
    if (!output_.send(segments, [this](auto part) { return write(part); })) {
        unfit_ = true;
        return false;
    }
    if (!output_.empty()) update_reading();
    return true;
}

WriteResult BackendConnection::write(std::span<const std::string_view> segments) {
    const WriteResult result = link_.write(segments);
    if (result.status == IoStatus::error) note_error(result.error);
    return result;
}

// The kernel tells an error once, to whoever comes first. Only these two are an answer of the
// server's machine; any other says that there was none.
void BackendConnection::note_error(int error) {
    if (error != ECONNRESET && error != EPIPE) severed_ = true;
}

void BackendConnection::work() {
    if (writable_) {
        writable_ = false;
        if (!dead_) {
            // A failed write is followed by a read that tells the reason.
            if (!output_.drain([this](auto part) { return write(part); })) unfit_ = true;
            update_reading();
            if (user_ != nullptr) user_->update_reading();
        }
    }
    if (readable_) {
        readable_ = false;
        if (!dead_) read();
    }
}

void BackendConnection::read() {
    const ReadResult result = link_.read(server_.read_buffer());
    switch (result.status) {
        case IoStatus::would_block: return;
        case IoStatus::error: note_error(result.error); [[fallthrough]];
        case IoStatus::eof: ended(); return;
        case IoStatus::bytes: break;
    }
    if (link_.has_pending()) {
        readable_ = true;
        server_.mark_ready(*this);
        server_.loop().again();
    }
    server_.totals().bytes_from_backends += result.count;
    std::string_view view(server_.read_buffer().data(), result.count);
    if (user_ == nullptr) {
        take_idle(view);
        return;
    }
    std::string joined;
    if (!input_.empty()) {
        joined.swap(input_);
        joined += view;
        view = joined;
    }
    FrontendConnection& user = *user_;
    const std::size_t used = user.session().on_backend(view, user.turn(), server_.outbox());
    if (used < view.size()) {
        if (user.session().has_backend()) {
            input_.assign(view.substr(used));
        } else {
            unfit_ = true;
        }
    }
    user.carry_out();
    user.pump();
}

void BackendConnection::take_idle(std::string_view bytes) {
    if (closing_) return;
    // A notice, or the goodbye of a server that ends idle connections, is no reason for a word;
    // a notice leaves the backend usable, and so does the news of a parameter (a server before 14
    // tells a reload at once). Anything else does not.
    Framer framer(server_.tables().backend);
    Frame frame;
    while (framer.next(bytes, frame) == FrameStatus::frame) {
        bytes.remove_prefix(frame.bytes.size());
        if (!frame.whole()) break;
        if (frame.type == static_cast<char>(BackendType::parameter_status)) {
            Cursor body(frame.body());
            const std::string_view name = body.cstring();
            book_.reported.set(name, body.cstring());
        } else if (frame.type != static_cast<char>(BackendType::notice_response)) {
            break;
        }
        if (bytes.empty()) return;
    }
    server_.log().debug("idle_backend_spoke",
                        {{"database", database_.entry().name}, {"pid", std::int64_t{link_.pid()}}});
    database_.pool().on_closing(id_);
    begin_close({}, Instant::never(), server_.now() + database_.entry().reset_timeout, false);
}

void BackendConnection::ended() {
    if (user_ != nullptr) {
        FrontendConnection& user = *user_;
        unfit_ = true;
        user.session().on_backend_lost(user.turn(), server_.outbox());
        user.carry_out();
        user.pump();
        // A session that was busy cleaning up elsewhere may have let go of it already.
        if (!dead_ && user_ == nullptr && !closing_) database_.on_gone(*this);
        return;
    }
    if (severed_ && permit_.held()) {
        database_.on_orphaned(*this, std::move(permit_));
        return;
    }
    if (permit_.held()) server_.note_permit_back(permit_);
    permit_.release();
    database_.on_gone(*this);
}

void BackendConnection::look_for_silence(Duration limit) {
    if (dead_ || !socket_.is_open()) return;
    if (!silence_.is_over(tcp_progress(link_.fd()), server_.now(), limit)) return;
    note_error(ETIMEDOUT);
    ended();
}

void BackendConnection::say_goodbye() {
    static constexpr std::string_view kTerminate("X\0\0\0\4", 5);
    send(std::span(&kTerminate, 1));
    begin_close({}, Instant::never(), server_.now() + database_.entry().reset_timeout, false);
}

void BackendConnection::begin_close(Permit permit, Instant cancel_at, Instant deadline,
                                    bool may_cancel) {
    permit_ = std::move(permit);
    closing_ = true;
    may_cancel_ = may_cancel;
    cancel_at_ = cancel_at;
    deadline_ = deadline;
    output_.clear();
    socket_.shutdown_write();
    socket_.watch(true, false);
}

void BackendConnection::on_tick(Instant now) {
    if (!closing_ || dead_) return;
    if (now >= cancel_at_ && may_cancel_ && !cancel_in_flight_) {
        cancel_at_ = Instant::never();
        send_cancel();
    }
    if (now < deadline_) return;
    if (permit_.held()) {
        database_.on_orphaned(*this, std::move(permit_));
    } else {
        database_.on_gone(*this);
    }
}

void BackendConnection::send_cancel() {
    // The one that the end of the program has sent serves a session's wish, too.
    if (cancel_in_flight_) return;
    cancel_in_flight_ = true;
    server_.cancel_sender().send(
        link_.cancel_target(), database_.entry().cancel_timeout,
        [&database = database_, id = id_](CancelOutcome outcome, const std::string& why) {
            if (outcome != CancelOutcome::closed) database.note_cancel_failed(why);
            BackendConnection* backend = database.find(id);
            if (backend != nullptr) backend->on_cancel_done(outcome != CancelOutcome::timed_out);
        });
}

void BackendConnection::on_cancel_done(bool sure) {
    cancel_in_flight_ = false;
    close_cancel_senders();
    if (user_ == nullptr) return;
    FrontendConnection& user = *user_;
    user.session().on_cancel_closed(sure, user.turn(), server_.outbox());
    user.carry_out();
    user.pump();
}

void BackendConnection::close_cancel_senders() {
    for (const std::uint64_t id : cancel_senders_) {
        if (FrontendConnection* sender = server_.find_frontend(id)) sender->close_soon();
    }
    cancel_senders_.clear();
}

void BackendConnection::die() {
    dead_ = true;
    close_cancel_senders();
    socket_.close();
    link_.drop();
}

}  // namespace pgb
