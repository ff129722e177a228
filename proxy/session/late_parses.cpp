// A batch that is a lone Parse, of a text that PostgreSQL has lately accepted, is answered before a
// backend is had; the Parse runs ahead of the first message that needs it. libpq's PQprepare is such
// a batch, and a program that drives many connections from one thread waits in it: if it had to wait
// for a backend, and its own other connections hold them all, it would wait for itself.

#include <utility>

#include "protocol/request.h"
#include "protocol/rows.h"
#include "proxy/session/session.h"

namespace pgb {

namespace {

constexpr std::string_view kSync("S\0\0\0\4", 5);

bool may_come_late(const TextEffect& effect) {
    return !effect.pins && !effect.unsure && !effect.defines && !effect.names_statement &&
           !effect.forgets_statements && !effect.drops_all_statements && !effect.settings &&
           !effect.sets_when_bound && !effect.transactions && !effect.several;
}

// PostgreSQL takes the snapshot of the whole block at its first Parse.
bool keeps_its_snapshot(const VirtualBlock& block) {
    switch (block.modes().isolation) {
        case IsolationLevel::unset:
        case IsolationLevel::read_committed:
        case IsolationLevel::read_uncommitted: return false;
        case IsolationLevel::repeatable_read:
        case IsolationLevel::serializable: return true;
    }
    return true;
}

}  // namespace

bool Session::parse_late(const Frame& frame, const ParseRequest& parse, std::string_view behind,
                         Outbox& out) {
    if (behind.substr(0, kSync.size()) != kSync || has_backend_ || is_resident()) return false;
    if (!frame.body_is_whole() || parse.name.empty() || looks_own(parse.name)) return false;
    if (block_.state() != VirtualBlock::State::none && keeps_its_snapshot(block_)) return false;
    const TextEffect effect = judge(parse.text, true);
    if (!may_come_late(effect)) return false;
    statements_.set_settings(journal_.fingerprint(settings_));
    const StatementFacts facts({}, effect_of_parsed({}, effect, parse));
    if (!statements_.take_known(parse, parse.types, facts)) return false;
    std::string& reply = out.scratch();
    append_parse_complete(reply);
    out.to_frontend(reply);
    return true;
}

// Others see it when it is committed; until then they wait for its locks or find what was.
void Session::note_catalog_change(const TextEffect& effect) {
    if (!effect.defines) return;
    statements_.doubt_known();
    lease_.catalogs_changed = true;
}

void Session::settle_catalog_change() {
    if (!lease_.catalogs_changed || status_ != TransactionStatus::idle) return;
    statements_.doubt_known();
    lease_.catalogs_changed = !ledger_.settled();
}

bool SessionStatements::take_known(const ParseRequest& parse, std::string_view types,
                                   const StatementFacts& facts) {
    if (knows(parse.name) || !has_room(parse.name, parse.text.size())) return false;
    const auto known = KnownParses::digest(origin_, settings_, parse.text, types);
    std::shared_ptr<const AcceptedParse> accepted = registry_.known_parses().find(known);
    if (accepted == nullptr) return false;
    const StatementKey key{.text = parse.text,
                           .types = types,
                           .settings = settings_,
                           .rows = kUntriedRows,
                           .accepted = std::move(accepted)};
    names_.emplace(std::string(parse.name), &registry_.intern(key, facts));
    return true;
}

std::optional<std::size_t> SessionStatements::parameter_count(const SharedStatement& statement) {
    if (statement.rows == kUnknownRows) return std::nullopt;
    if (statement.rows == kUntriedRows) return statement.accepted->parameter_count();
    return statement.types.size() / sizeof(std::uint32_t);
}

std::optional<std::string_view> SessionStatements::types_if_rowless(
    const SharedStatement& statement) {
    if (statement.rows == kNoRows) return statement.types;
    if (statement.rows != kUntriedRows || statement.accepted->returns_rows) return std::nullopt;
    return statement.accepted->types;
}

std::optional<std::string_view> SessionStatements::types_if_rowless(std::string_view name) const {
    const Found found = look_up(name, 0);
    if (found.statement == nullptr) return std::nullopt;
    return types_if_rowless(*found.statement);
}

// As a Parse of the client's: under a fresh number, and with a Describe that tells the rows.
SessionStatements::Prepared SessionStatements::parse_late(std::string_view name,
                                                          const SharedStatement& statement,
                                                          StatementWire& wire) {
    // What comes of the batches before this one decides what may be prepared: a failed block.
    if (wire.ledger.frontend_syncs() > 0) return {Passage::wait};
    close_retired(wire);
    const std::uint64_t number = wire.book.statements.fresh_number();
    const std::string there = statement_name(number);
    append_own_parse(there, statement.text, statement.types, wire);
    std::string& own = wire.out.scratch();
    append_own_describe(own, there, wire);
    wire.out.to_backend(own);
    PendingStatement& pending = pending_.push(PendingKind::parse, wire.batch);
    pending.replies_due = 2;
    pending.number = number;
    pending.name = name;
    pending.text = statement.text;
    pending.types = statement.types;
    pending.facts = statement.facts;
    return {Passage::sent, number};
}

void SessionStatements::note_parse(const PendingStatement& done) {
    if (done.replies_taken == 0 && !done.failed) return;
    const auto parse = KnownParses::digest(origin_, settings_, done.text, done.types);
    if (done.replies_taken == 2) {
        registry_.known_parses().add(parse, {.types = std::string(shape_.types()),
                                             .returns_rows = shape_.rows() != kNoRows});
    } else {
        registry_.known_parses().forget(parse);
    }
}

}  // namespace pgb
