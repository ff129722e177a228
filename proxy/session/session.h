#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/framer.h"
#include "protocol/ready_for_query.h"
#include "protocol/transaction_statement.h"
#include "proxy/base/instant.h"
#include "proxy/session/backend_batch.h"
#include "proxy/session/outbox.h"
#include "proxy/session/refusal.h"
#include "proxy/session/reply_ledger.h"
#include "proxy/session/session_state.h"
#include "proxy/session/text_effect.h"
#include "proxy/session/virtual_block.h"

namespace pgb {

/// What the driver knows at the moment of a call.
struct Turn {
    Instant now;
    /// Somebody waits for a permit of this session's workload, or for a backend of its pool.
    bool contended = false;
};

/// The timeouts of the workload and the pool a permit was granted for. Zero: off.
struct LeaseRules {
    Duration holder_idle{0};
    Duration transaction{0};
    Duration cancel_after_leave{0};
    Duration reset_timeout{0};
    Duration cancel_timeout{0};
};

/// Head tables shared by all sessions.
struct SessionTables {
    HeadTable frontend;
    HeadTable backend;
};

/// A statement of the transaction grammar that outlives the message it came in.
struct LocalStatement {
    TransactionVerb verb = TransactionVerb::none;
    TransactionModes modes;
    std::string name;  ///< of a savepoint, as written
    /// Of the unnamed statement: for a backend that must know it after all, as only a Bind without
    /// parameters to the unnamed portal is answered here.
    std::string text;

    LocalStatement(const TransactionStatement& statement, std::string_view whole_text)
        : verb(statement.verb), modes(statement.modes), name(statement.name), text(whole_text) {}
    /// Lives as long as this object.
    [[nodiscard]] TransactionStatement view() const { return {verb, modes, name}; }
};

/// What is true of one lease of a backend, from on_backend_ready() to its end; a new one starts
/// with these values.
struct Lease {
    bool worked = false;            ///< something of the frontend's was sent
    bool first_unit_sent = false;   ///< only one Query or batch goes ahead of BEGIN's reply
    bool commit_sent = false;       ///< and not answered yet
    bool begin_sent = false;        ///< by the frontend, behind other work, and not answered yet
    bool reset_needed = false;      ///< the backend must be cleaned before anyone else gets it
    bool discard_all_sent = false;  ///< the frontend itself cleaned it, if error_seen is false
    bool error_seen = false;
    bool cancel_in_flight = false;
    bool worn_out = false;          ///< a resident has left it: nobody else gets it
    bool cancel_unsure = false;     ///< a cancel may still hit whatever this backend does
    bool begin_prepares = false;    ///< the next own ParseComplete confirms a BEGIN statement
    bool unnamed_parsed = false;    ///< the backend has this session's unnamed statement
    bool unnamed_unbound = false;   ///< it was not bound yet: a later batch may want it
    bool unnamed_kept = false;      ///< it is of an earlier batch, for which the backend was kept
    bool flushed = false;           ///< the proxy asked for held replies; once is enough
    bool aborted = false;           ///< the batch of a frontend that has gone was ended
    bool muted = false;             ///< what the backend says from here on is about that
    std::uint32_t sync_points = 0;  ///< forwarded since the permit was granted
    Instant granted_at;
    Instant transaction_since;  ///< granted_at, or when the one before it in a pipeline ended
    Instant cancelled_at = Instant::never();  ///< when the proxy itself cancelled
    Instant cancel_again_at = Instant::never();
};

/// One frontend connection after login: decides what each message of either side means, when a
/// permit and a backend are needed, and when they are free again. Pure: bytes and the time go in,
/// bytes and decisions come out (Outbox); it never calls back and reads no clock.
///
/// session_state.h has the states with their drawing. Invariants:
///   S1  at most one permit and one backend; a lent backend implies a held permit, but for the
///       backend of a pinned session that is being cleaned after its client has left.
///   S2  no byte of a transaction goes to a backend before its permit was granted, and none is
///       refused after a byte of it was sent.
///   S3  a backend is given back only when nothing is owed on it, its status is I, no cancel is on
///       its way to it, and what the session left on it was reset.
///   S4  local answers are written only while no backend owes the frontend anything: wire order
///       needs no queue of them.
///   S5  once a byte of COMMIT, PREPARE TRANSACTION or COMMIT PREPARED was sent, no cancel of the
///       proxy's own follows until it was answered.
class Session {
public:
    explicit Session(const SessionTables& tables)
        : frontend_framer_(tables.frontend), backend_framer_(tables.backend) {}

    /// Takes messages from the front of what the frontend sent and was not taken yet; returns how
    /// many bytes. Stops at a message that must wait: call again after the next event.
    std::size_t on_frontend(std::string_view input, const Turn& turn, Outbox& out);
    /// Bytes came from the frontend, whether or not they can be taken yet: it is not silent.
    void note_frontend_activity(Instant now) { last_activity_ = now; }
    /// The same as on_frontend() for the backend's bytes; stops only at a message that is not whole yet.
    std::size_t on_backend(std::string_view input, const Turn& turn, Outbox& out);

    /// `pooling: session`, told once at login: the backend is the session's until its end. `rules`
    /// are those of its workload, for its cleaning if it never asks for a permit.
    void become_resident(BackendBook& book, const LeaseRules& rules);

    // Answers to decisions.
    void on_permit(const LeaseRules& rules, const Turn& turn, Outbox& out);
    void on_refused(const ShedFacts& facts);
    /// The backend can't be had for good: refuse with PostgreSQL's own code.
    void on_backend_unavailable(std::string_view sqlstate, std::string_view message);
    /// `book` stays valid until end_lease, close_backend, drop_backend or orphan_backend.
    void on_backend_ready(BackendBook& book, const Turn& turn, Outbox& out);
    void on_pin_granted(const Turn& turn, Outbox& out);
    void on_pin_denied(const ShedFacts& facts, const Turn& turn, Outbox& out);
    /// `sure` false: the signal may still come, so this backend is never lent again.
    void on_cancel_closed(bool sure, const Turn& turn, Outbox& out);

    // Events from outside.
    /// A CancelRequest with this session's key.
    void on_cancel_request(const Turn& turn, Outbox& out);
    /// The backend's connection has ended.
    void on_backend_lost(const Turn& turn, Outbox& out);
    void on_frontend_gone(Leaving how, const Turn& turn, Outbox& out);
    /// Every few hundredths of a second while a permit or backend is held. `frontend_blocked`:
    /// the frontend does not read what was sent to it.
    void on_tick(const Turn& turn, bool frontend_blocked, Outbox& out);
    /// Since when the frontend has been silent between two transactions; never() if it is not.
    [[nodiscard]] Instant idle_since() const;
    /// It was silent for too long: it is told, and the session ends.
    void on_idle_timeout(const Turn& turn, Outbox& out);
    /// The program is about to end: say goodbye as soon as no transaction is open.
    void on_drain(const Turn& turn, Outbox& out);

    [[nodiscard]] SessionState state() const { return state_; }
    [[nodiscard]] bool has_backend() const { return has_backend_; }
    /// A cancel of the proxy's own may be sent (S5).
    [[nodiscard]] bool may_cancel() const { return !lease_.commit_sent; }
    /// Input would be taken now if there were any: false while queued and at barriers.
    [[nodiscard]] bool takes_input() const;

private:
    enum class Rest : std::uint8_t { drop, forward };
    enum class OwnWork : std::uint8_t { none, batch_abort, rollback, barrier, discard };
    using NamedVerb = std::pair<std::string, LocalStatement>;

    // frontend_idle.cpp: messages while no backend takes part
    bool take_idle(const Frame& frame, const Turn& turn, Outbox& out);
    bool discard(const Frame& frame, Outbox& out);
    bool idle_query(const Frame& frame, Outbox& out);
    bool idle_parse(const Frame& frame, Outbox& out);
    bool idle_bind(const Frame& frame, Outbox& out);
    [[nodiscard]] bool may_be_prepared(std::string_view name) const;
    bool idle_describe(const Frame& frame, Outbox& out);
    bool idle_execute(const Frame& frame, Outbox& out);
    bool idle_close(const Frame& frame, Outbox& out);
    bool ask(bool pins, Outbox& out);
    bool ask_for_text(std::string_view name, std::string_view text, bool whole, Outbox& out);
    [[nodiscard]] bool refuses_begin(const Frame& frame) const;
    bool refuse(const Frame& frame, Outbox& out);
    void fail_batch(std::string& reply, Outbox& out);
    void answer(std::string& reply, Outbox& out) const;
    [[nodiscard]] bool untold_failure(const TransactionStatement& statement) const;
    bool answer_failed_block(Outbox& out);
    void forget_untold_error();

    // frontend_lent.cpp: messages while a backend is lent
    bool take_lent(const Frame& frame, const Turn& turn, Outbox& out);
    [[nodiscard]] bool must_wait(const Turn& turn) const;
    bool lent_text(std::string_view name, std::string_view text, bool whole, Outbox& out);
    bool lent_parse(const Frame& frame, Outbox& out);
    bool lent_bind(const Frame& frame, Outbox& out);
    bool deny_pin(const Frame& frame, const Turn& turn, Outbox& out);
    void guard_unnamed(Outbox& out);
    void forward(const Frame& frame, Owed owed, Outbox& out);
    void pass(const Frame& frame, Outbox& out);
    bool violation(const Frame& frame, const Turn& turn, Outbox& out);

    // backend_replies.cpp
    bool take_reply(const Frame& frame, const Turn& turn, Outbox& out);
    bool take_asynchronous(const Frame& frame, Outbox& out);
    bool take_error(const Frame& frame, const Turn& turn, Outbox& out);
    void note_own_reply(BackendType type);
    void take_ready(const Frame& frame, Ruling ruling, Outbox& out);
    void begin_failed(Outbox& out);
    void own_error(const Turn& turn, Outbox& out);
    void deliver(const Frame& frame, Ruling ruling, Outbox& out);
    void after_replies(const Turn& turn, Outbox& out);

    // resident.cpp: a session with a backend for life
    [[nodiscard]] bool is_resident() const { return (pins_ & kPinResident) != 0; }
    bool idle_resident(const Frame& frame, Outbox& out);
    void forget_unnamed(const Frame& frame);
    void resume_resident(const Turn& turn, Outbox& out);
    bool lent_resident(const Frame& frame, Outbox& out);
    TransactionStatement note_resident_text(std::string_view text, bool whole);
    bool end_resident(const Frame& frame, Outbox& out);
    void lose_resident(Decision how, Outbox& out);
    void append_fatal_of_loss(std::string_view sqlstate, std::string_view message, Outbox& out);
    void leave_lost_backend(Decision how, Outbox& out);

    // timeouts.cpp
    void check_holder(const Turn& turn, bool frontend_blocked, Outbox& out);
    bool check_transaction_time(const Turn& turn, bool frontend_blocked, Outbox& out);
    [[nodiscard]] bool was_overlong(std::string_view code) const;
    void evict_overlong(const Turn& turn, bool frontend_blocked, Outbox& out);
    void evict(std::string_view code, std::string_view message, const Turn& turn,
               bool frontend_blocked, Outbox& out);

    // settling.cpp: the end of a transaction, and of a session
    void check_over(const Turn& turn, Outbox& out);
    void settle(const Turn& turn, Outbox& out);
    void end_lease(Outbox& out);
    void wind_down(const Turn& turn, Outbox& out);
    void await_or_cancel(const Turn& turn, Outbox& out);
    void give_up_backend(Decision how, Outbox& out);
    void give_up_cleaning(Outbox& out);
    void drop_pin(Outbox& out);
    void say_goodbye(std::string_view sqlstate, std::string_view message, Outbox& out);

    // outcome.cpp: what the frontend is told when its backend is lost
    void distrust_backend(const Turn& turn, Outbox& out);
    void lose_backend(Decision how, const Turn& turn, Outbox& out);
    void tell_lost(bool resolution_unknown, Outbox& out);

    [[nodiscard]] const LocalStatement* local_statement(std::string_view name) const;
    void remember_statement(std::string_view name, const TransactionStatement& statement);

    Framer frontend_framer_;
    Framer backend_framer_;
    ReplyLedger ledger_;
    VirtualBlock block_;
    LeaseRules rules_;
    BackendBook* book_ = nullptr;

    SessionState state_ = SessionState::idle;
    TransactionStatus status_ = TransactionStatus::idle;
    Rest frontend_rest_ = Rest::drop;  // what the rest of a begun message is for
    Rest backend_rest_ = Rest::drop;
    OwnWork own_work_ = OwnWork::none;
    PinReasons pins_ = 0;

    // The unnamed statement and portal that hold a statement answered without a backend.
    std::optional<LocalStatement> local_statement_;
    std::optional<LocalStatement> local_portal_;
    // Statements with a name whose text is BEGIN, COMMIT or ROLLBACK in some form.
    std::vector<NamedVerb> named_verbs_;
    // Names that were closed while no backend took part; the kept backend is told first thing.
    std::vector<std::string> owed_closes_;
    // What the text of the message that asked for a permit does; spares a second look.
    std::optional<TextEffect> judged_;

    // A refusal whose message has not been taken yet; the bytes of its ErrorResponse.
    std::string refusal_;
    // The block failed while nothing could be said; told at its next statement.
    std::string untold_error_;

    bool discarding_ = false;     // an error was answered here: up to the next Sync nothing counts
    bool has_backend_ = false;    // lent, or kept by a pin
    bool pin_reserved_ = false;   // the pool counts a pin for this session
    bool reset_owed_ = false;     // by the lease that kept the backend: it must be cleaned some day
    bool unnamed_stale_ = false;  // the kept backend's unnamed statement is not this session's last
    bool draining_ = false;
    Lease lease_;
    Instant last_activity_;
    Instant deadline_ = Instant::never();  // of settling, or of the work a client left behind
};

}  // namespace pgb
