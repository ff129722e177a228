// What is sent: names become numbers, and what a backend lacks goes ahead.

#include "proxy/session/session_statements.h"

#include <utility>

#include "protocol/writer.h"
#include "proxy/base/check.h"
#include "proxy/session/statement_errors.h"

namespace pgb {

namespace {

constexpr std::string_view kFlush("H\0\0\0\4", 5);
// PostgreSQL looks at one byte less than NAMEDATALEN of a name. A longer one is left to it.
constexpr std::size_t kNameMax = 63;
// A pipeline longer than this may see a number in an error's text.
constexpr std::size_t kBoundEarlyMax = 256;

// A message whose body goes on behind what is written here.
void append_head(std::string& out, char type, std::uint64_t size) {
    const auto length = static_cast<std::uint32_t>(size - 1);
    out += type;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(length >> shift & 0xff);
}

}  // namespace

void SessionStatements::append_own_describe(std::string& own, std::string_view name,
                                            StatementWire& wire) {
    MessageWriter(own).begin(FrontendType::describe).u8('S').cstring(name).end();
    wire.ledger.owe(Owed::describe_statement, Origin::own, Note::noted);
}

SessionStatements::Found SessionStatements::look_up(std::string_view name,
                                                    std::uint32_t batch) const {
    const PendingStatement* about = pending_.newest([name](const PendingStatement& pending) {
        return pending.kind == PendingKind::close_all ||
               ((pending.kind == PendingKind::parse || pending.kind == PendingKind::close) &&
                pending.name == name);
    });
    Found found;
    if (about != nullptr) {
        found.unsettled = about->batch != batch;
        if (about->kind == PendingKind::parse) found.pending = about;
        return found;
    }
    const auto known = names_.find(name);
    if (known != names_.end()) found.statement = known->second;
    return found;
}

bool SessionStatements::knows(std::string_view name) const {
    return name.empty() ? unnamed_.latest().token != 0 : look_up(name, 0).known();
}

const StatementFacts* SessionStatements::facts(std::string_view name) const {
    if (name.empty()) return unnamed_.latest().token != 0 ? &unnamed_.latest().facts : nullptr;
    const Found found = look_up(name, 0);
    if (found.pending != nullptr) return &found.pending->facts;
    return found.statement != nullptr ? &found.statement->facts : nullptr;
}

std::string_view SessionStatements::text(std::string_view name) const {
    if (name.empty()) {
        const UnnamedStatement::Version& unnamed = unnamed_.latest();
        if (unnamed.token == 0 || unnamed.message.empty()) return {};
        return parse_parse(std::string_view(unnamed.message).substr(kMessageHeaderSize), true).text;
    }
    const Found found = look_up(name, 0);
    if (found.pending != nullptr) return found.pending->text;
    return found.statement != nullptr ? std::string_view(found.statement->text)
                                      : std::string_view();
}

bool SessionStatements::has_room(std::string_view name, std::size_t size) const {
    if (name.size() > kNameMax) return false;
    if (knows(name)) return true;
    std::size_t coming = 0;
    std::size_t coming_size = 0;
    pending_.for_each([&](const PendingStatement& pending) {
        if (pending.kind != PendingKind::parse) return;
        ++coming;
        coming_size += pending.text.size();
    });
    return names_.size() + coming < registry_.limits().session_max &&
           registry_.has_room(size + coming_size);
}

std::string SessionStatements::wrong_count(const BindRequest& bind) const {
    const auto known = names_.find(bind.statement);
    if (known == names_.end() || bind.truncated || !bind.well_formed()) return {};
    const std::optional<std::size_t> wanted = parameter_count(*known->second);
    if (!wanted || bind.parameter_count == *wanted) return {};
    return wrong_parameter_count(bind.statement, bind.parameter_count, *wanted);
}

Passage SessionStatements::parse(const Frame& frame, const ParseRequest& parse,
                                 const StatementFacts& facts, StatementWire& wire) {
    if (wire.ledger.skipping()) return Passage::as_it_is;
    if (parse.name.empty()) return parse_unnamed(frame, facts, wire);
    const Found found = look_up(parse.name, wire.batch);
    if (found.unsettled) return Passage::wait;
    close_retired(wire);
    const std::uint64_t number = wire.book.statements.fresh_number();
    const std::string name = statement_name(number);
    std::string& head = wire.out.scratch();
    append_head(head, frame.type, frame.size - parse.name.size() + name.size());
    head.append(name).push_back('\0');
    wire.out.to_backend(head);
    const std::string_view rest = frame.bytes.substr(kMessageHeaderSize + parse.name.size() + 1);
    wire.out.to_backend(rest);
    if (found.known()) {
        // Its errors come first in PostgreSQL, too; the name is looked at last.
        wire.ledger.owe(Owed::parse, Origin::own, Note::noted);
        pending_.push(PendingKind::duplicate, wire.batch).number = number;
        return refuse(statement_exists(parse.name), wire);
    }
    wire.ledger.owe(Owed::parse, Origin::frontend, Note::noted);
    std::string& describe = wire.out.scratch();
    append_own_describe(describe, name, wire);
    wire.out.to_backend(describe);
    PendingStatement& pending = pending_.push(PendingKind::parse, wire.batch);
    pending.replies_due = 2;
    pending.number = number;
    pending.name = parse.name;
    pending.text = parse.text;
    pending.types = rest.substr(parse.text.size() + 1 + sizeof(std::uint16_t));
    pending.facts = facts;
    return Passage::sent;
}

Passage SessionStatements::bind(const Frame& frame, const BindRequest& bind, StatementWire& wire) {
    if (wire.ledger.skipping()) return Passage::as_it_is;
    if (bind.statement.empty()) return ready_unnamed(wire);
    const Found found = look_up(bind.statement, wire.batch);
    if (found.unsettled) return Passage::wait;
    if (found.statement != nullptr) {
        // PostgreSQL's complaint has the statement's name in it, and comes before any other.
        std::string complaint = wrong_count(bind);
        if (!complaint.empty()) return refuse(std::move(complaint), wire);
    }
    const Prepared prepared = prepare(bind.statement, wire);
    if (prepared.passage == Passage::as_it_is) wire.book.last_statement.forget();
    if (prepared.passage != Passage::sent) return prepared.passage;
    PGB_CHECK(found.known());
    wire.book.last_statement.note(found.pending != nullptr ? found.pending->text
                                                           : found.statement->text);
    if (found.pending != nullptr) {
        if (bound_early_.size() >= kBoundEarlyMax) bound_early_.clear();
        bound_early_.emplace_back(prepared.number, bind.statement);
    }
    // Head and names are new; the values behind them are passed on as they are.
    const std::string name = statement_name(prepared.number);
    std::string& head = wire.out.scratch();
    append_head(head, frame.type, frame.size - bind.statement.size() + name.size());
    head.append(bind.portal).push_back('\0');
    head.append(name).push_back('\0');
    wire.out.to_backend(head);
    wire.out.to_backend(
        frame.bytes.substr(kMessageHeaderSize + bind.portal.size() + bind.statement.size() + 2));
    wire.ledger.owe(Owed::bind, Origin::frontend);
    return Passage::sent;
}

Passage SessionStatements::describe(const TargetRequest& describe, StatementWire& wire) {
    if (wire.ledger.skipping()) return Passage::as_it_is;
    if (describe.name.empty()) return ready_unnamed(wire);
    const Found found = look_up(describe.name, wire.batch);
    std::optional<std::string_view> types;
    if (wire.in_failed_block && !found.unsettled && found.statement != nullptr) {
        types = types_if_rowless(*found.statement);
    }
    const Prepared prepared = types ? prepare_likeness(*types, wire) : prepare(describe.name, wire);
    if (prepared.passage != Passage::sent) return prepared.passage;
    std::string& message = wire.out.scratch();
    MessageWriter(message)
        .begin(FrontendType::describe)
        .u8('S')
        .cstring(statement_name(prepared.number))
        .end();
    wire.out.to_backend(message);
    wire.ledger.owe(Owed::describe_statement, Origin::frontend);
    return Passage::sent;
}

Passage SessionStatements::close(const TargetRequest& close, StatementWire& wire) {
    if (wire.ledger.skipping()) return Passage::as_it_is;
    const Found found = close.name.empty() ? Found{} : look_up(close.name, wire.batch);
    if (found.unsettled) return Passage::wait;
    if (close.name.empty()) {
        pending_.push(PendingKind::unnamed_drop, wire.batch);
        unnamed_.drop_sent();
    } else if (found.known()) {
        pending_.push(PendingKind::close, wire.batch).name = close.name;
    } else if (!looks_own(close.name)) {
        return Passage::as_it_is;
    }
    // The statement itself stays on the backend for whoever makes it again; what answers the
    // frontend is the Close of one that is not there.
    const bool counts = close.name.empty() || found.known();
    std::string& message = wire.out.scratch();
    MessageWriter(message)
        .begin(FrontendType::close)
        .u8('S')
        .cstring(close.name.empty() ? std::string_view() : kMissingStatement)
        .end();
    wire.out.to_backend(message);
    wire.ledger.owe(Owed::close, Origin::frontend, counts ? Note::noted : Note::none);
    return Passage::sent;
}

SessionStatements::Prepared SessionStatements::prepare(std::string_view name, StatementWire& wire) {
    const Found found = look_up(name, wire.batch);
    if (found.unsettled) return {Passage::wait};
    if (found.pending != nullptr) return {Passage::sent, found.pending->number};
    if (found.statement != nullptr) {
        return found.statement->rows == kUntriedRows ? parse_late(name, *found.statement, wire)
                                                     : prepare_here(*found.statement, wire);
    }
    if (!looks_own(name)) return {Passage::as_it_is};
    return {refuse(no_such_statement(name), wire)};
}

SessionStatements::Prepared SessionStatements::prepare_here(const SharedStatement& statement,
                                                            StatementWire& wire) {
    if (const std::uint64_t number = wire.book.statements.number_of(statement.id)) {
        return {Passage::sent, number};
    }
    const bool has_rows = statement.rows > kUnknownRows;
    const PendingStatement* coming = pending_.newest([&](const PendingStatement& pending) {
        return pending.kind == PendingKind::prepare && pending.id == statement.id &&
               !pending.doubtful;
    });
    if (coming != nullptr) {
        if (has_rows || coming->batch != wire.batch) return {Passage::wait};
        return {Passage::sent, coming->number};
    }
    if (changed_ == statement.id) {
        changed_ = 0;
        return {refuse(result_type_changed(), wire)};
    }
    // What comes of the batches before this one decides what may be prepared: a failed block.
    if (wire.ledger.frontend_syncs() > 0) return {Passage::wait};
    close_retired(wire);
    const std::uint64_t number = wire.book.statements.fresh_number();
    const std::string name = statement_name(number);
    append_own_parse(name, statement.text, statement.types, wire);
    PendingStatement& pending = pending_.push(PendingKind::prepare, wire.batch);
    pending.number = number;
    pending.id = statement.id;
    pending.rows = statement.rows;
    registry_.count_prepared();
    if (has_rows) {
        std::string& own = wire.out.scratch();
        append_own_describe(own, name, wire);
        own += kFlush;
        wire.out.to_backend(own);
        pending.replies_due = 2;
    }
    return {has_rows ? Passage::wait : Passage::sent, number};
}

// In a failed block PostgreSQL still describes a statement without rows, but makes none. An empty
// one with the same parameters may be made even there, and looks the same.
SessionStatements::Prepared SessionStatements::prepare_likeness(std::string_view types,
                                                                StatementWire& wire) {
    if (wire.ledger.frontend_syncs() > 0) return {Passage::wait};
    const std::uint64_t number = wire.book.statements.fresh_number();
    append_own_parse(statement_name(number), {}, types, wire);
    pending_.push(PendingKind::duplicate, wire.batch).number = number;
    return {Passage::sent, number};
}

Passage SessionStatements::hand_over(std::string_view name, bool empty, StatementWire& wire) {
    if (wire.ledger.skipping()) return Passage::as_it_is;
    const Found found = look_up(name, wire.batch);
    if (found.unsettled || found.pending != nullptr) {
        if (!empty || found.unsettled) return Passage::wait;
    }
    close_retired(wire);
    const bool whole = !empty && found.statement != nullptr;
    const std::string_view text = whole ? std::string_view(found.statement->text) : "";
    const std::string_view types = whole ? std::string_view(found.statement->types) : "";
    append_own_parse(name, text, types, wire);
    pending_.push(PendingKind::close, wire.batch).name = name;
    return Passage::sent;
}

void SessionStatements::append_own_close(std::string& own, std::string_view name,
                                         StatementWire& wire) {
    MessageWriter(own).begin(FrontendType::close).u8('S').cstring(name).end();
    wire.ledger.owe(Owed::close, Origin::own, Note::noted);
}

void SessionStatements::append_own_parse(std::string_view name, std::string_view text,
                                         std::string_view types, StatementWire& wire) {
    std::string& own = wire.out.scratch();
    MessageWriter(own)
        .begin(FrontendType::parse)
        .cstring(name)
        .cstring(text)
        .u16(static_cast<std::uint16_t>(types.size() / sizeof(std::uint32_t)))
        .bytes(types)
        .end();
    wire.out.to_backend(own);
    wire.ledger.owe(Owed::parse, Origin::own, Note::noted);
}

Passage SessionStatements::refuse(std::string error, StatementWire& wire) {
    std::string& failing = wire.out.scratch();
    MessageWriter(failing)
        .begin(FrontendType::bind)
        .cstring("")
        .cstring(kMissingStatement)
        .u16(0)
        .u16(0)
        .u16(0)
        .end();
    wire.out.to_backend(failing);
    wire.ledger.owe(Owed::bind, Origin::own, Note::noted);
    pending_.push(PendingKind::refuse, wire.batch).text = std::move(error);
    return Passage::replaced;
}

// Ahead of something that is sent anyway, and behind every use of them.
void SessionStatements::close_retired(StatementWire& wire) {
    if (!wire.book.statements.has_retired()) return;
    std::string& own = wire.out.scratch();
    for (std::string& name : wire.book.statements.take_retired()) {
        append_own_close(own, name, wire);
        pending_.push(PendingKind::retire, wire.batch).name = std::move(name);
    }
    wire.out.to_backend(own);
}

}  // namespace pgb
