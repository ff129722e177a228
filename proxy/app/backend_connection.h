#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/app/output_buffer.h"
#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/gate/permit.h"
#include "proxy/io/backend_link.h"
#include "proxy/io/socket.h"
#include "proxy/io/tcp_silence.h"
#include "proxy/pool/backend_state.h"
#include "proxy/session/backend_batch.h"

namespace pgb {

class Database;
class FrontendConnection;
class Server;

struct ReadyBackends;

/// One connection to PostgreSQL after libpq has opened it: its socket, the bytes that wait, what is
/// known of it, and who uses it. Owned by its Database, deleted at the end of a turn.
///
/// Ending one is not closing it: the server may still be at work. `begin_close` ends our direction
/// and waits for the server to end its own, with the permit of the transaction held until then.
class BackendConnection final : public SocketEvents, public ListHook<ReadyBackends> {
public:
    BackendConnection(Server& server, Database& database, BackendId id, GroupId group,
                      BackendLink link);
    ~BackendConnection() = default;
    BackendConnection(const BackendConnection&) = delete;
    BackendConnection& operator=(const BackendConnection&) = delete;

    void on_ready(bool readable, bool writable) override;
    void work();

    void attach(FrontendConnection& user);
    void detach();

    /// Writes the segments or keeps them; false when the connection is broken.
    bool send(std::span<const std::string_view> segments);
    /// Says Terminate to an idle backend and waits for its end.
    void say_goodbye();
    /// Ends our direction and waits for the server's; `permit` is held until then, at most until
    /// `deadline`. `may_cancel`: work that still runs after `cancel_at` is cancelled.
    void begin_close(Permit permit, Instant cancel_at, Instant deadline, bool may_cancel);
    /// Sends a CancelRequest; the session that uses the backend is told when it has closed.
    void send_cancel();
    /// The connection that brought a CancelRequest is closed when the cancel has had its effect.
    void await_cancel(std::uint64_t frontend_id) { cancel_senders_.push_back(frontend_id); }
    void on_cancel_done(bool sure);
    [[nodiscard]] bool has_cancel_in_flight() const { return cancel_in_flight_; }
    /// Of one that is being closed: cancel what still runs, or give up on it.
    void on_tick(Instant now);
    /// Breaks the connection if the server has acknowledged nothing for `limit`.
    void look_for_silence(Duration limit);

    [[nodiscard]] BackendId id() const { return id_; }
    [[nodiscard]] GroupId group() const { return group_; }
    [[nodiscard]] BackendBook& book() { return book_; }
    [[nodiscard]] const BackendBook& book() const { return book_; }
    [[nodiscard]] FrontendConnection* user() const { return user_; }
    [[nodiscard]] std::uint32_t pid() const { return link_.pid(); }
    [[nodiscard]] bool is_dead() const { return dead_; }
    [[nodiscard]] bool is_closing() const { return closing_; }
    /// Must not be lent again: it broke, or sent more than the lease that ends was owed.
    [[nodiscard]] bool is_unfit() const { return unfit_; }
    /// The connection broke, and nobody knows whether the server's process has ended, too.
    [[nodiscard]] bool is_severed() const { return severed_; }
    [[nodiscard]] std::size_t unsent() const { return output_.size(); }
    void update_reading();
    /// It is to be deleted at the end of the turn; its socket is closed now.
    void die();

private:
    void read();
    WriteResult write(std::span<const std::string_view> segments);
    void ended();
    void note_error(int error);
    void take_idle(std::string_view bytes);
    void close_cancel_senders();

    Server& server_;
    Database& database_;
    BackendLink link_;
    Socket socket_;
    BackendBook book_;
    FrontendConnection* user_ = nullptr;
    TcpSilence silence_;
    OutputBuffer output_;
    std::string input_;
    std::vector<std::uint64_t> cancel_senders_;
    Permit permit_;
    BackendId id_;
    GroupId group_;
    Instant cancel_at_ = Instant::never();
    Instant deadline_ = Instant::never();
    bool readable_ = false;
    bool writable_ = false;
    bool cancel_in_flight_ = false;
    bool may_cancel_ = false;
    bool closing_ = false;
    bool dead_ = false;
    bool unfit_ = false;
    bool severed_ = false;
};

}  // namespace pgb
