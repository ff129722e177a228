#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/framer.h"
#include "protocol/request.h"
#include "proxy/session/backend_batch.h"
#include "proxy/session/outbox.h"
#include "proxy/session/pending_statements.h"
#include "proxy/session/reply_ledger.h"
#include "proxy/session/shape_reader.h"
#include "proxy/session/statement_facts.h"
#include "proxy/session/statement_registry.h"
#include "proxy/session/unnamed_statement.h"

namespace pgb {

/// Where a message goes: the backend that is lent, what it owes, and how far the session has come.
struct StatementWire {
    BackendBook& book;
    ReplyLedger& ledger;
    Outbox& out;
    std::uint32_t batch = 0;       ///< sync points sent on this lease
    bool in_failed_block = false;  ///< as of the last ReadyForQuery
};

/// What became of a message that names a statement.
enum class Passage : std::uint8_t {
    sent,      ///< It was written, perhaps under another name; what follows its head is passed on.
    replaced,  ///< Something else was written in its place; the rest of it is dropped.
    as_it_is,  ///< Not the proxy's business: the caller forwards it unchanged.
    wait,      ///< It must wait for an answer of the backend.
};

/// The prepared statements of one session. A client sees names of its own, private to it and valid
/// on whatever backend serves it; a backend sees numbers of its own (backend_statements.h).
///
///   client's Parse(a) ----> Parse(pgb_s7), Describe(pgb_s7) of our own ----> on success: a -> id,
///                                                                            backend: id -> 7
///   client's Bind(a) -----> backend has id?  yes: Bind(pgb_s7)
///                                            no:  Parse(pgb_s9) of our own first
///
///   T1  a name is changed only when the server has answered; until then what was sent and not
///       answered yet (PendingStatements) is seen in order by what is sent behind it in the same
///       batch, and what comes in a later batch waits.
///   T2  a Parse of the client's always runs, so that a Close and a Parse heal a plan whose
///       result has changed. The statement it makes is the same as another only if its rows are.
///   T3  a statement with rows runs on a further backend only after that backend has described it
///       alike; else the client gets the error that PostgreSQL has for a changed result.
///       A lone Parse that PostgreSQL has lately accepted is answered before a backend is had, and
///       runs ahead of the first message that needs it (late_parses.cpp).
///   T4  a name that is not in the book goes to the server unchanged, which then finds what the
///       client made there by itself (PREPARE, a pinned session) or has the right error. A name
///       that looks like one of the proxy's own is not let through.
///
/// An error that PostgreSQL would give and the backend cannot know of is made in its place: a
/// message that must fail is sent, and its error's text is replaced (PendingKind::refuse). So the
/// order, the state of the block and the skipping to Sync are the server's own.
class SessionStatements {
public:
    explicit SessionStatements(StatementRegistry& registry) : registry_(registry) {}
    ~SessionStatements() { drop_names(); }
    SessionStatements(const SessionStatements&) = delete;
    SessionStatements& operator=(const SessionStatements&) = delete;

    /// The digest of settings that later Parses depend on.
    void set_settings(std::uint64_t settings) { settings_ = settings; }
    /// A digest of the database, the user and the startup parameters; once, at login.
    void set_origin(std::uint64_t origin) { origin_ = origin; }
    [[nodiscard]] std::uint64_t origin() const { return origin_; }
    /// There is none, and nothing about any is on its way.
    [[nodiscard]] bool empty() const {
        return names_.empty() && unnamed_.empty() && pending_.empty() && bound_early_.empty();
    }

    // What is known of a name, the empty one included, as it is seen behind everything sent.
    [[nodiscard]] bool knows(std::string_view name) const;
    /// Something about the name was sent in an earlier batch: what is known may not come true.
    [[nodiscard]] bool is_unsettled(std::string_view name, const StatementWire& wire) const {
        return look_up(name, wire.batch).unsettled;
    }
    /// nullptr: unknown. Valid until the next call that changes anything.
    [[nodiscard]] const StatementFacts* facts(std::string_view name) const;
    /// The text of a statement, if it is kept; else empty. Valid as facts() is.
    [[nodiscard]] std::string_view text(std::string_view name) const;
    /// Whether another name, with a text of this size, is within the bounds.
    [[nodiscard]] bool has_room(std::string_view name, std::size_t size) const;

    /// The ErrorResponse, if a Bind with so many parameters can only fail; else empty.
    [[nodiscard]] std::string wrong_count(const BindRequest& bind) const;

    /// The parameter types of a statement without rows, which PostgreSQL describes even in a failed
    /// block; else, or if they are not known, nothing. Valid as long as the name is kept.
    [[nodiscard]] std::optional<std::string_view> types_if_rowless(std::string_view name) const;

    // Messages for a backend. All of a Parse must be there; of a Bind its names.
    Passage parse(const Frame& frame, const ParseRequest& parse, const StatementFacts& facts,
                  StatementWire& wire);
    Passage bind(const Frame& frame, const BindRequest& bind, StatementWire& wire);
    Passage describe(const TargetRequest& describe, StatementWire& wire);
    Passage close(const TargetRequest& close, StatementWire& wire);
    /// The statement is made on the backend under the client's own name and leaves the book: from
    /// here on the backend alone knows it. For EXECUTE, of a session that keeps its backend; with
    /// an `empty` text for DEALLOCATE, which then finds what it is to drop.
    Passage hand_over(std::string_view name, bool empty, StatementWire& wire);

    /// What a Query or Execute that is about to be sent does to the session's statements.
    struct Drops {
        bool all = false;          ///< DEALLOCATE ALL or DISCARD ALL
        std::string_view given{};  ///< DEALLOCATE of this one, which was handed over for it
    };
    /// Each returns whether the reply must be noted.
    Note query(const Drops& drops, StatementWire& wire);
    Note execute(const Drops& drops, StatementWire& wire);

    // Answers of the backend, for what the ledger has noted.
    /// The next error is in answer to what is at the front. Returns what the frontend is to get
    /// instead, or nothing; valid until on_noted().
    std::string_view on_error();
    void on_noted(const NotedReplies& noted, BackendBook& book);
    /// An ErrorResponse whose message has a statement's name on the backend, in the client's words;
    /// empty: it is about none.
    [[nodiscard]] std::string in_client_words(std::string_view body, BackendBook& book) const;
    /// A piece of the answer to a Describe of the proxy's own.
    void read_shape(char type, bool first, std::string_view bytes) {
        shape_.read(type, first, bytes);
    }
    /// The backend has gone or was given back.
    void end_lease();

    // While no backend takes part: at once.
    void set_unnamed(std::string_view message, const StatementFacts& facts) {
        unnamed_.set(registry_.fresh_token(), message, facts);
    }
    /// A statement without parameters and rows, of a name that is free and within the bounds.
    void set_name(std::string_view name, std::string_view text, const StatementFacts& facts);
    void drop_unnamed() { unnamed_.drop(); }
    /// Takes a Parse that PostgreSQL has lately accepted; its name is free. False: it must be sent.
    bool take_known(const ParseRequest& parse, std::string_view types, const StatementFacts& facts);
    /// What was accepted of late, in whatever session, may not be any more.
    void doubt_known() { registry_.known_parses().forget_all(); }
    void drop_name(std::string_view name);
    void drop_names();
    [[nodiscard]] const UnnamedStatement& unnamed() const { return unnamed_; }

private:
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const {
            return std::hash<std::string_view>{}(name);
        }
    };
    using Names =
        std::unordered_map<std::string, const SharedStatement*, NameHash, std::equal_to<>>;

    /// A name as it is seen behind everything sent: at most one of the two is set.
    struct Found {
        const SharedStatement* statement = nullptr;
        const PendingStatement* pending = nullptr;  ///< its Parse, not answered yet
        bool unsettled = false;  ///< something about it was sent in an earlier batch
        [[nodiscard]] bool known() const { return statement != nullptr || pending != nullptr; }
    };
    struct Prepared {
        Passage passage = Passage::sent;
        std::uint64_t number = 0;
    };

    [[nodiscard]] std::string_view name_of(std::uint64_t number, BackendBook& book) const;
    [[nodiscard]] static std::optional<std::size_t> parameter_count(const SharedStatement& made);
    [[nodiscard]] static std::optional<std::string_view> types_if_rowless(
        const SharedStatement& made);
    [[nodiscard]] Found look_up(std::string_view name, std::uint32_t batch) const;
    Prepared prepare(std::string_view name, StatementWire& wire);
    Prepared prepare_here(const SharedStatement& statement, StatementWire& wire);
    Prepared parse_late(std::string_view name, const SharedStatement& statement,
                        StatementWire& wire);
    Prepared prepare_likeness(std::string_view types, StatementWire& wire);
    Passage ready_unnamed(StatementWire& wire);
    Passage parse_unnamed(const Frame& frame, const StatementFacts& facts, StatementWire& wire);
    static void append_own_close(std::string& own, std::string_view name, StatementWire& wire);
    static void append_own_describe(std::string& own, std::string_view name, StatementWire& wire);
    static void append_own_parse(std::string_view name, std::string_view text,
                                 std::string_view types, StatementWire& wire);
    Passage refuse(std::string error, StatementWire& wire);
    void close_retired(StatementWire& wire);
    void doubt_all(StatementWire& wire);
    void finish(PendingStatement& done, BackendBook& book);
    void finish_parse(PendingStatement& done, BackendBook& book);
    void note_parse(const PendingStatement& done);
    void finish_prepare(const PendingStatement& done, BackendBook& book);
    void finish_unnamed(const PendingStatement& done, BackendBook& book);

    StatementRegistry& registry_;
    Names names_;
    UnnamedStatement unnamed_;
    PendingStatements pending_;
    ShapeReader shape_;
    std::uint64_t settings_ = 0;
    std::uint64_t origin_ = 0;
    // Bound before their Parse was answered, for an error that has the number in it.
    std::vector<std::pair<std::uint64_t, std::string>> bound_early_;
    StatementId changed_ = 0;  // prepared just now, with other rows than it had
};

}  // namespace pgb
