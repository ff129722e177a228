#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/framer.h"
#include "protocol/ready_for_query.h"
#include "protocol/request.h"
#include "protocol/transaction_statement.h"
#include "proxy/base/instant.h"
#include "proxy/session/backend_batch.h"
#include "proxy/session/holding.h"
#include "proxy/session/housekeeping_texts.h"
#include "proxy/session/lease.h"
#include "proxy/session/local_answers.h"
#include "proxy/session/outbox.h"
#include "proxy/session/owed_statements.h"
#include "proxy/session/own_warnings.h"
#include "proxy/session/refusal.h"
#include "proxy/session/reply_ledger.h"
#include "proxy/session/reported_values.h"
#include "proxy/session/session_seed.h"
#include "proxy/session/session_state.h"
#include "proxy/session/session_statements.h"
#include "proxy/session/settings_book.h"
#include "proxy/session/settings_journal.h"
#include "proxy/session/state_tracking.h"
#include "proxy/session/statement_effects.h"
#include "proxy/session/statement_facts.h"
#include "proxy/session/tag_book.h"
#include "proxy/session/text_effect.h"
#include "proxy/session/virtual_block.h"

namespace pgb {

/// Head tables shared by all sessions.
struct SessionTables {
    HeadTable frontend = {};
    HeadTable backend = {};
    /// Judges statement texts for all of them; none: the lexer alone does, and every SET pins.
    StateTracking* tracking = nullptr;
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
    /// Both outlive the session.
    Session(const SessionTables& tables, StatementRegistry& registry)
        : frontend_framer_(tables.frontend),
          backend_framer_(tables.backend),
          statements_(registry),
          tracking_(tables.tracking),
          local_({block_, statements_, effects_, owed_, settings_, told_, journal_},
                 tables.tracking != nullptr) {}

    // session_seed.cpp: one that begins, and one that rests
    Session(const SessionTables& tables, StatementRegistry& registry, const SessionSeed& seed);
    /// Nothing is under way, and a session made of seed() would do the same as this one.
    [[nodiscard]] bool is_at_rest() const;
    [[nodiscard]] SessionSeed seed() const;

    /// The value of a parameter as the frontend was told it last; empty: it was not.
    [[nodiscard]] std::string_view told(std::string_view parameter) const {
        return told_.value(parameter).value_or(std::string_view());
    }
    /// By what its driver tells the workloads of this session apart.
    void class_by(ClassedBy what) { classed_by_ = what; }
    [[nodiscard]] bool has_settings() const { return !settings_.empty(); }
    /// The statement that set `name` for the session, as it will be for the transaction that asks;
    /// empty: none did. Valid until the next call that changes anything.
    [[nodiscard]] std::string_view text_that_set(std::string_view name) const {
        return (aim_ ? *aim_ : settings_).text_of(name);
    }
    /// Whether it wants to be told warnings.
    [[nodiscard]] bool wants_warnings() const {
        return warnings_for(settings_) == VirtualBlock::Warnings::told;
    }

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

    /// When the transaction that has asked for a permit must be over; `by_default`: how long one has
    /// that brings no deadline.
    [[nodiscard]] Instant due(Duration by_default) const;

    // Answers to decisions.
    void on_permit(const LeaseRules& rules, const Turn& turn, Outbox& out);
    void on_refused(const ShedFacts& facts);
    /// The backend can't be had for good: refuse with PostgreSQL's own code.
    void on_backend_unavailable(std::string_view sqlstate, std::string_view message);
    /// `book` stays valid until end_lease, close_backend, drop_backend or orphan_backend.
    void on_backend_ready(BackendBook& book, const Turn& turn, Outbox& out);
    void on_pin_granted(const Turn& turn, Outbox& out);
    void on_pin_denied(const ShedFacts& facts, const Turn& turn, Outbox& out);
    void on_workload(bool same) { lease_.next_unit = same ? NextUnit::same : NextUnit::other; }
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
    /// Somebody ends it: it is told, its work is rolled back or cancelled.
    void on_kill(const Turn& turn, bool frontend_blocked, Outbox& out);
    /// The program is about to end: say goodbye as soon as no transaction is open.
    void on_drain(const Turn& turn, Outbox& out);

    [[nodiscard]] SessionState state() const { return state_; }
    [[nodiscard]] bool has_backend() const { return has_backend_; }
    /// It keeps its backend between transactions.
    [[nodiscard]] bool is_pinned() const { return pins_ != 0; }
    /// Only while a permit is held: what for.
    [[nodiscard]] Holding holding() const;
    /// A cancel of the proxy's own may be sent (S5).
    [[nodiscard]] bool may_cancel() const { return !lease_.commit_sent; }
    /// Of housekeeping that was asked for: it takes a permit of its workload if one is free.
    [[nodiscard]] bool may_use_own_lane() const { return house_kind_ == Housekeeping::setting; }
    /// Input would be taken now if there were any: false while queued and at barriers.
    [[nodiscard]] bool takes_input() const;

private:
    enum class Rest : std::uint8_t { drop, forward, shape };
    enum class Follow : std::uint8_t { yes, wait, pin };

    // frontend_idle.cpp: messages while no backend takes part
    bool take_idle(const Frame& frame, std::string_view behind, const Turn& turn, Outbox& out);
    bool answer_or_ask(const Frame& frame, FrontendType type, std::string_view behind, Outbox& out);
    bool idle_query(const Frame& frame, Outbox& out);
    bool ask_to_describe(const Frame& frame, std::string_view behind, Outbox& out);
    bool idle_bind(const Frame& frame, std::string_view behind, Outbox& out);
    bool idle_parse(const Frame& frame, std::string_view behind, Outbox& out);
    [[nodiscard]] Kept kept() const;
    bool ask(bool pins, Outbox& out);
    bool ask_for_text(std::string_view text, bool whole, Outbox& out);
    void refuse(const Frame& frame, Outbox& out);

    // housekeeping.cpp: what has a lane of its own
    enum class Lane : std::uint8_t { workload, housekeeping, not_known_yet };
    bool ask_in_lane(Housekeeping kind, const Frame& frame, std::string_view behind);
    [[nodiscard]] bool is_housekeeping_here(Housekeeping kind) const;
    [[nodiscard]] Lane lane_of_batch(const Frame& frame, std::string_view behind);
    bool end_batch_at_flush(Outbox& out);
    void answer_in_virtual_block(Outbox& out);
    void tell_flushed_batch_lost(Outbox& out);
    bool check_statement_time(const Turn& turn, Outbox& out);

    // classing.cpp: texts that decide about the workload
    [[nodiscard]] StatementText text_of(const Frame& frame) const;
    [[nodiscard]] std::string_view text_of_statement(std::string_view name) const;
    bool goes_ahead(const Frame& frame, Outbox& out);
    void note_comments(std::string_view name, std::string_view text, bool whole);

    // late_parses.cpp: a Parse that is answered before a backend is had
    bool parse_late(const Frame& frame, const ParseRequest& parse, std::string_view behind,
                    Outbox& out);
    void note_catalog_change(const TextEffect& effect);
    void settle_catalog_change();

    // frontend_lent.cpp: messages while a backend is lent
    bool take_lent(const Frame& frame, const Turn& turn, Outbox& out);
    [[nodiscard]] bool must_wait(const Turn& turn) const;
    bool lent_plain(const Frame& frame, Outbox& out);
    bool lent_query(const Frame& frame, Outbox& out);
    bool lent_text(bool runs, std::string_view text, bool whole, Outbox& out);
    bool deny_pin(const Frame& frame, const Turn& turn, Outbox& out);
    void forward(const Frame& frame, Owed owed, Outbox& out, Note note = Note::none);
    void pass(const Frame& frame, Outbox& out);
    bool violation(const Frame& frame, const Turn& turn, Outbox& out);

    // preparing.cpp: this session's settings on a backend, and what its frontend is told of them
    void prepare(const SettingsBook& wanted, const Turn& turn, Outbox& out);
    bool prepare_failed(const Frame& frame, Outbox& out);
    void keep_as_refusal(const Frame& error);
    void prepared(const Turn& turn, Outbox& out);
    void give_up_preparing(Outbox& out);
    void begin_work(Outbox& out);
    bool take_parameter(const Frame& frame, Outbox& out);
    void tell_parameters(Outbox& out);

    // session_locks.cpp: advisory locks of the session keep their permit
    [[nodiscard]] bool rests_locked() const;
    void note_lock_text(const TextEffect& effect);
    void note_lock_answer(std::string_view tag);
    void rest_locked(Outbox& out);

    // following.cpp: what becomes of the settings that a text changes
    [[nodiscard]] TextEffect judge(std::string_view text, bool whole);
    void aim_at_undone(std::string_view text);
    [[nodiscard]] Follow may_follow(const std::vector<SettingChange>& changes) const;
    void follow(TransactionVerb verb, std::string_view savepoint,
                const std::vector<SettingChange>& changes);
    [[nodiscard]] const std::vector<SettingChange>& changes_of(const TextEffect& effect,
                                                               std::string_view text);
    bool follow_execute(const Frame& frame, Outbox& out);
    void add_pins(const TextEffect& effect);
    void settle_settings();

    // lent_statements.cpp: what makes, binds, describes and closes statements, on a lent backend
    bool lent_parse(const Frame& frame, Outbox& out);
    [[nodiscard]] bool stays_native(const ParseRequest& parse) const;
    bool lent_native_parse(const Frame& frame, Outbox& out);
    bool lent_bind(const Frame& frame, Outbox& out);
    bool lent_describe(const Frame& frame, Outbox& out);
    bool lent_execute(const Frame& frame, Outbox& out);
    bool lent_close(const Frame& frame, Outbox& out);
    bool admit_effect(const TextEffect& effect, Outbox& out);
    bool admit_verb(TransactionVerb verb);
    bool pass_on(Passage passage, const Frame& frame, Owed owed, Outbox& out);
    void note_portal(std::string_view portal, const StatementFacts& facts);
    bool admit_target(const StatementTarget& target, Outbox& out);
    bool admit_later_targets(const TextEffect& effect, std::string_view text, Outbox& out);
    bool hand_over(std::string_view name, Outbox& out);
    [[nodiscard]] StatementWire wire(Outbox& out);
    [[nodiscard]] StatementEffect effect_of_parsed(const TransactionStatement& transaction,
                                                   const TextEffect& effect,
                                                   const ParseRequest& parse);
    bool bind_calls(const Frame& frame, const BindRequest& bind, const StatementEffect& does,
                    Outbox& out);

    // backend_replies.cpp
    bool take_reply(const Frame& frame, const Turn& turn, Outbox& out);
    bool take_asynchronous(const Frame& frame, Outbox& out);
    bool take_error(const Frame& frame, const Turn& turn, Outbox& out);
    void note_own_reply(BackendType type);
    void read_shape(const Frame& frame, BackendType type);
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
    void note_resident_statement(const Frame& frame, const ParseRequest& parse,
                                 const TransactionStatement& statement);
    bool lent_resident(const Frame& frame, Outbox& out);
    TransactionStatement note_resident_text(std::string_view text, bool whole);
    bool end_resident(const Frame& frame, Outbox& out);
    void lose_resident(Decision how, Outbox& out);
    void append_fatal_of_loss(std::string_view sqlstate, std::string_view message, Outbox& out);
    void leave_lost_backend(Decision how, Outbox& out);

    // timeouts.cpp
    void check_holder(const Turn& turn, bool frontend_blocked, Outbox& out);
    bool check_transaction_time(const Turn& turn, bool frontend_blocked, Outbox& out);
    void cancel_or_lose(const Turn& turn, Outbox& out);
    [[nodiscard]] bool was_overlong(std::string_view code) const;
    void evict_overlong(const Turn& turn, bool frontend_blocked, Outbox& out);
    void evict(std::string_view code, std::string_view message, const Turn& turn,
               bool frontend_blocked, Outbox& out);

    // deadlines.cpp
    void note_asking(const Frame& frame, const Turn& turn, Outbox& out);
    void note_local_deadline(const Frame& frame, const Turn& turn);
    void note_first_statement(const Frame& frame, const Turn& turn);
    void renew_deadline(Instant since);
    bool waits_for_deadline(const Frame& frame) const;
    bool check_deadline(const Turn& turn, Outbox& out);
    bool stop_running(const Turn& turn, Outbox& out);
    void roll_back(const Turn& turn, Outbox& out);
    bool fail_on_backend(Outbox& out);
    bool tell_past_due(std::string_view sqlstate, Outbox& out);
    void give_up_late_start(const Turn& turn, Outbox& out);

    // settling.cpp: the end of a transaction, and of a session
    void check_over(const Turn& turn, Outbox& out);
    void settle(const Turn& turn, Outbox& out);
    void end_lease(Outbox& out);
    void wind_down(const Turn& turn, Outbox& out);
    void await_or_cancel(const Turn& turn, Outbox& out);
    void give_up_backend(Decision how, Outbox& out);
    void give_up_unclean(const Turn& turn, Outbox& out);
    void drop_pin(Outbox& out);
    void say_goodbye(std::string_view sqlstate, std::string_view message, Outbox& out);

    // outcome.cpp: what the frontend is told when its backend is lost
    void distrust_backend(const Turn& turn, Outbox& out);
    void lose_backend(Decision how, const Turn& turn, Outbox& out);
    void tell_lost(bool resolution_unknown, Outbox& out);

    [[nodiscard]] bool unnamed_is_stuck() const;

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

    SessionStatements statements_;
    OwedStatements owed_;  // to the backend that this session keeps
    // What the text of the message that asked for a permit does; spares a second look.
    std::optional<TextEffect> judged_;

    StateTracking* tracking_;
    SettingsBook settings_;    // in force for this session, on whichever backend
    SettingsJournal journal_;  // what becomes of those on their way
    StatementEffects effects_;
    ReportedValues told_;
    // The settings behind the RESET that asked for the lease: they need not be set up before it.
    std::optional<SettingsBook> aim_;
    SettingsBook wanted_;  // what a backend is being prepared for

    // A refusal whose message has not been taken yet; the bytes of its ErrorResponse.
    std::string refusal_;
    LocalAnswers local_;

    Housekeeping house_kind_ = Housekeeping::no;  // of the message that asked for the permit
    HouseUnit house_unit_ = HouseUnit::none;
    TagBook tag_book_;
    ClassedBy classed_by_ = ClassedBy::login;
    bool has_backend_ = false;   // lent, or kept by a pin
    bool pin_reserved_ = false;  // the pool counts a pin for this session
    bool reset_owed_ = false;    // by the lease that kept the backend: it must be cleaned some day
    bool draining_ = false;
    Lease lease_;
    StatementText asked_;                  // the text of that message, within one call
    Instant seen_at_ = Instant::never();   // when the message that stands first came there
    Instant told_due_ = Instant::never();  // of the transaction that asks, by its client
    static constexpr std::int64_t kNoTime = -1;
    std::int64_t bound_time_ = kNoTime;  // milliseconds that a statement bound here has told
    Instant last_activity_;
    Instant deadline_ = Instant::never();  // of settling, or of the work a client left behind
};

}  // namespace pgb
