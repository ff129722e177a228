#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/classify.h"
#include "config/model.h"
#include "proxy/admin/console/session.h"
#include "proxy/admin/console/views.h"
#include "proxy/admin/holders.h"
#include "proxy/app/authenticating.h"
#include "proxy/app/config_in_force.h"
#include "proxy/app/doorkeeper.h"
#include "proxy/app/output_buffer.h"
#include "proxy/app/spare_buffers.h"
#include "proxy/app/workload_choice.h"
#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/gate/gate.h"
#include "proxy/io/client_link.h"
#include "proxy/io/socket.h"
#include "proxy/io/tcp_silence.h"
#include "proxy/pool/pool_types.h"
#include "proxy/session/login.h"
#include "proxy/session/session.h"
#include "proxy/session/session_slot.h"

namespace pgb {

class BackendConnection;
class Database;
class Server;

struct DoorTls;
struct ReadyFrontends;
struct HoldingFrontends;
struct LoggingInFrontends;
struct WatchedDeadlines;

/// Which door a frontend came through.
struct DoorFacts {
    std::string name;  ///< the listener's name in the file
    bool is_unix = false;
    DoorRules rules;
    const DoorTls* tls = nullptr;  ///< null: none is offered
};

/// How far a frontend has come.
enum class FrontendPhase : std::uint8_t {
    login,       ///< before authentication, or waiting for its group's greeting
    session,     ///< messages go to the session machine
    console,     ///< messages go to the console; no gate and no pool knows it
    cancelling,  ///< sent a CancelRequest; closed when that has had its effect
    dead,        ///< to be deleted at the end of the turn; may still hold a backend's work
};

/// One frontend: its socket, the bytes that wait on either side, and the session machine that
/// decides about them. Owned by Server, deleted at the end of a turn. The waiters are its places in
/// the gate's and the pool's queues.
class FrontendConnection final : public SocketEvents,
                                 public Waiter,
                                 public PoolWaiter,
                                 public ListHook<ReadyFrontends>,
                                 public ListHook<HoldingFrontends>,
                                 public ListHook<LoggingInFrontends>,
                                 public DueHook<WatchedDeadlines> {
public:
    FrontendConnection(Server& server, std::uint64_t id, int fd, const DoorFacts& door,
                       std::string peer);
    ~FrontendConnection();
    FrontendConnection(const FrontendConnection&) = delete;
    FrontendConnection& operator=(const FrontendConnection&) = delete;

    void on_ready(bool readable, bool writable) override;

    /// Carries out what on_ready() noted; called by the server, backends first.
    void work();
    /// Feeds the session what it has not taken yet; called after anything that may let it go on.
    void pump();
    /// Flushes and carries out what the outbox holds for this session, to the end.
    void carry_out();

    // Answers from the gate and the pool.
    void on_settled(Settled& settled);
    void on_lent(BackendConnection& backend);
    /// Whether a backend that the pool has for it would still be taken.
    [[nodiscard]] bool awaits_backend() const;
    void on_pool_refused(const PoolAction& action);
    void on_greeting();
    void on_login_failed(std::string_view sqlstate, std::string_view message,
                         std::string_view detail = {}, std::string_view hint = {});

    // authenticating.cpp: answers to what its authentication waits for.
    void on_verifier_ready();
    void on_peer_name(const std::optional<std::string>& name);
    [[nodiscard]] bool awaits_proof() const;
    void on_proved(ConnectedBackend proof);
    void on_not_proved(const ConnectFailure& failure);

    /// A CancelRequest with this session's key has arrived.
    void on_cancel_request();
    void on_tick();
    /// The deadline of its transaction has passed, and it holds a permit (deadline_watch.cpp).
    void on_deadline();
    /// Ends the connection to whoever has acknowledged nothing for limits.tcp_user_timeout: its
    /// client, or the backend that is lent to it.
    void look_for_silence();
    void on_drain();
    /// `limits.client_idle_timeout` has changed.
    void watch_idleness();
    /// Sends it away if it has been silent between two transactions for client_idle_timeout.
    void check_idle();
    /// Its CancelRequest has had its effect.
    void close_soon();
    void login_timed_out();

    // console_frontend.cpp
    void on_kill();
    /// What its console was waiting for.
    void on_console_answer(const ConsoleReply& reply);
    /// As people are shown it.
    [[nodiscard]] ClientView client_view() const;
    /// For what and since when it waits; nothing: it does not.
    [[nodiscard]] std::optional<WaiterView> waiter_view() const;
    [[nodiscard]] std::optional<PinView> pin_view() const;

    // frontend_tls.cpp
    void on_handshake(std::unique_ptr<TlsStream> stream, HandshakeStep step);
    /// The turn has come to read what lies in the TLS layer.
    void read_pending();

    [[nodiscard]] Session& session() { return *session_; }
    /// A COMMIT was sent, and nothing is known of it yet.
    [[nodiscard]] bool is_committing() {
        return phase_ == FrontendPhase::session && !session_->may_cancel();
    }
    [[nodiscard]] BackendConnection* backend() const { return backend_; }
    [[nodiscard]] FrontendPhase phase() const { return phase_; }
    [[nodiscard]] bool is_dead() const { return phase_ == FrontendPhase::dead; }
    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] Instant opened_at() const { return opened_at_; }
    [[nodiscard]] bool output_is_blocked() const;
    [[nodiscard]] std::size_t unsent() const { return output_.size(); }
    /// Stop or go on reading, as the other side's buffers demand.
    void update_reading();
    [[nodiscard]] Turn turn() const;

    // holders.cpp: who holds the permits
    [[nodiscard]] const Permit& permit() const { return permit_; }
    /// Only while it holds a permit.
    [[nodiscard]] HolderState holder_state(Instant& since) const;
    /// `backend`: the one it works on; null: none yet.
    [[nodiscard]] Holder holder(const BackendConnection* backend) const;

private:
    void read();
    // Each returns how many bytes of the view were taken.
    std::size_t feed(std::string_view view);
    std::size_t feed_login(std::string_view view);
    std::size_t feed_session(std::string_view view);
    void deliver_eof();
    void drop_taken_input();
    void drop_input() {
        free_memory(input_);
        input_at_ = 0;
    }
    void begin_login();
    [[nodiscard]] std::string new_cancel_key() const;
    void begin_session();
    void greet(std::string_view key);
    /// More than any client sends before it was greeted.
    static constexpr std::size_t kEarlyInputMax = std::size_t{64} << 10;
    void end_login_with(const std::string& last_word);
    void start_cancel();
    void on_eof();
    void broken();
    void cut_off();
    void deliver_reset();
    void say(const std::string& reply);
    [[nodiscard]] bool said_goodbye() const;
    void die();
    void keep_input(std::string_view rest);
    void note_output();
    void close_when_flushed();
    void finish_closing();

    // authenticating.cpp: what is between the startup packet and begin_login()
    void begin_authentication();
    [[nodiscard]] bool has_asked_to_log_in() const;
    void refuse_for_drain();
    void ask_for(AuthenticationKind kind);
    void ask_for_password();
    void ask_peer_name();
    [[nodiscard]] bool is_known_as(std::string_view outside_name) const;
    void judge_certificate();
    void refuse_method(std::string_view method);
    std::size_t feed_authentication(std::string_view view);
    void take_step(AuthenticationStep step, const std::string& reply);
    void ask_verifier();
    void start_proof();
    void wipe_taken(std::string_view taken);
    /// Nothing that still comes is looked at.
    [[nodiscard]] bool is_ending() const { return is_dead() || close_when_flushed_; }
    // frontend_tls.cpp
    void start_tls(std::string_view received);
    void go_on_with_handshake();
    void handshake_is_over();
    /// What lies in the TLS layer is read in the next turn, as if it came then.
    void read_pending_later();
    [[nodiscard]] bool is_let_in() const;
    void refuse_plain();

    // console_frontend.cpp
    [[nodiscard]] bool is_for_console() const;
    bool check_room();
    void refuse_for_room(bool for_console);
    void begin_console();
    std::size_t feed_console(std::string_view view);
    void pump_console();
    void end_console();

    // residence.cpp: `pooling: session`
    void become_resident(BackendConnection& backend);
    void refuse_login(const PoolAction& action);

    // classing.cpp
    [[nodiscard]] std::uint32_t workload_at_login() const;
    void remember_login();
    void follow_rules();
    void choose_workload();
    void ask_workload();
    void note_name();
    [[nodiscard]] bool is_usual(std::string_view text) const;
    [[nodiscard]] config::Subject subject() const;
    [[nodiscard]] std::optional<std::size_t> choose(const config::Subject& subject) const;
    [[nodiscard]] std::string chosen_by(std::string_view text) const;
    [[nodiscard]] std::uint32_t workload_for(std::string_view chosen) const;
    void tell_choice(const std::string& chosen);

    // driver.cpp
    void send_to_frontend();
    void carry_out_decisions();
    void carry_out(Decision decision);
    void flush_backend();
    void ask_permit();
    void take_permit(Permit permit, Duration waited);
    void arrive();
    void ask_housekeeping();  // housekeeping.cpp
    void ask_backend();
    void ask_pin();
    void accept_backend(BackendConnection& backend);
    void refuse_backend(const PoolAction& action);
    void leave_queue();
    void give_permit_back();
    void drop_pin();
    void end_lease(Decision how);
    [[nodiscard]] WorkloadIndex workload_index() const {
        return static_cast<WorkloadIndex>(workload_);
    }

    Server& server_;
    ClientLink link_;
    SessionSlot session_;
    TcpSilence silence_;
    std::unique_ptr<Login> login_;
    std::unique_ptr<Authenticating> authenticating_;
    const DoorFacts& door_;
    Database* database_ = nullptr;
    BackendConnection* backend_ = nullptr;
    Permit permit_;
    std::string input_;  // read and not taken yet, from input_at_ on
    std::size_t input_at_ = 0;
    OutputBuffer output_;
    std::string peer_;
    std::uint64_t id_;
    std::uint32_t workload_ = 0;
    std::uint32_t pin_workload_ = 0;  // which the pin is counted for, if the session has one
    WorkloadChoice choice_;           // known from the greeting on
    GroupId group_{};
    std::int32_t pid_ = 0;
    Instant opened_at_;
    Instant arrived_at_;
    FrontendPhase phase_ = FrontendPhase::login;
    config::Pooling pooling_ = config::Pooling::transaction;  // decided at login, for good
    bool readable_ = false;
    bool writable_ = false;
    bool eof_ = false;
    bool reads_freely_ = true;    // watched for reading and nothing else
    bool broken_ = false;         // reads and writes are of no use any more
    bool reset_pending_ = false;  // and the session was not told yet
    bool close_when_flushed_ = false;
    bool is_authenticated_ = false;
};

}  // namespace pgb
