// What makes, binds, describes and closes prepared statements while a backend is lent. The names are
// the business of session_statements.h; here is what they mean for the lease.

#include <algorithm>
#include <utility>

#include "protocol/request.h"
#include "proxy/session/session.h"
#include "proxy/session/statement_errors.h"

namespace pgb {

StatementWire Session::wire(Outbox& out) {
    return {*book_, ledger_, out, lease_.sync_points, status_ == TransactionStatus::failed};
}

// Carries out what has become of a message. False: it waits.
bool Session::pass_on(Passage passage, const Frame& frame, Owed owed, Outbox& out) {
    switch (passage) {
        case Passage::wait: return false;
        case Passage::as_it_is: forward(frame, owed, out); return true;
        case Passage::sent:
        case Passage::replaced:
            frontend_rest_ = passage == Passage::sent ? Rest::forward : Rest::drop;
            lease_.worked = true;
            lease_.flushed = false;
            return true;
    }
    return true;
}

bool Session::lent_parse(const Frame& frame, Outbox& out) {
    const bool whole = frame.body_is_whole();
    const ParseRequest parse = parse_parse(frame.body(), whole);
    if (!parse.well_formed()) {
        forward(frame, Owed::parse, out);
        return true;
    }
    if (!parse.name.empty() && (!whole || stays_native(parse))) {
        return lent_native_parse(frame, out);
    }
    const TextEffect effect = judged_ ? *judged_ : judge(parse.text, whole);
    judged_ = effect;
    StatementTarget target;
    if (effect.names_statement) target = read_statement_target(parse.text);
    if (!admit_target(target, out) || !admit_later_targets(effect, parse.text, out)) return false;
    if (!lent_text(false, parse.text, whole, out)) return false;
    const TransactionStatement transaction =
        whole ? parse_transaction_statement(parse.text) : TransactionStatement{};
    const bool may_be_local =
        parse.parameter_type_count == 0 && parse.text.size() <= StatementFacts::kLocalTextMax;
    StatementFacts facts(may_be_local ? transaction : TransactionStatement{},
                         effect_of_parsed(transaction, effect, parse));
    if (target.kind == StatementTarget::Kind::deallocate) facts.target = std::move(target);
    StatementWire to = wire(out);
    statements_.set_settings(journal_.fingerprint(settings_));
    const Passage passage = statements_.parse(frame, parse, facts, to);
    if (passage == Passage::wait) judged_ = effect;
    if (parse.name.empty()) {
        const bool stuck = unnamed_is_stuck();
        lease_.unnamed.parsed(stuck);
        if (stuck) {
            note_comments({}, parse.text, whole);
            book_->last_statement.note(parse.text);
        }
    }
    return pass_on(passage, frame, Owed::parse, out);
}

StatementEffect Session::effect_of_parsed(const TransactionStatement& transaction,
                                          const TextEffect& effect, const ParseRequest& parse) {
    StatementEffect does{.verb = transaction.verb,
                         .savepoint = std::string(transaction.name),
                         .changes = changes_of(effect, parse.text),
                         .text = effect,
                         .housekeeping = housekeeping_of(parse.text)};
    if (effect.sets_when_bound) {
        does.calls = tracking_->calls_of(parse.text);
        does.calls.declare(parse.types);
    }
    return does;
}

// A session that keeps its backend anyway makes its statements there by itself, and so does one
// that has more of them than are remembered.
bool Session::stays_native(const ParseRequest& parse) const {
    if (statements_.knows(parse.name)) return false;
    return (pins_ != 0 && !looks_own(parse.name)) ||
           !statements_.has_room(parse.name, parse.text.size());
}

// A statement that the proxy does not make again elsewhere: it lives under the client's own name on
// a backend that the session keeps.
bool Session::lent_native_parse(const Frame& frame, Outbox& out) {
    const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
    const bool whole = frame.body_is_whole();
    const TextEffect effect = judge(parse.text, whole);
    judged_ = effect;
    judged_->pins = true;
    judged_->reasons |= kPinNamedStatement;
    if (!lent_text(false, parse.text, whole, out)) return false;
    const TransactionStatement transaction =
        whole ? parse_transaction_statement(parse.text) : TransactionStatement{};
    effects_.on_parse(parse.name, effect_of_parsed(transaction, effect, parse));
    note_comments(parse.name, parse.text, whole);
    forward(frame, Owed::parse, out);
    return true;
}

bool Session::lent_bind(const Frame& frame, Outbox& out) {
    const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
    const StatementFacts* facts = bind.names_complete ? statements_.facts(bind.statement) : nullptr;
    if (!ledger_.skipping()) {
        const StatementEffect* does =
            facts != nullptr ? &facts->does : effects_.of_statement(bind.statement);
        if (does != nullptr) {
            if (does->verb != TransactionVerb::none && !admit_verb(does->verb)) return false;
            if (!admit_effect(does->text, out)) return false;
            if (does->unknown) lease_.reset_needed = true;
        }
        if (does != nullptr && !does->calls.empty()) {
            if (!bind_calls(frame, bind, *does, out)) return false;
        } else {
            effects_.on_bind(bind.portal, does);
        }
        if (facts != nullptr) note_portal(bind.portal, *facts);
    }
    lease_.locks_changed = true;
    Passage passage = Passage::as_it_is;
    if (bind.names_complete) {
        StatementWire to = wire(out);
        passage = statements_.bind(frame, bind, to);
    }
    if (bind.statement.empty()) lease_.unnamed.bound();
    return pass_on(passage, frame, Owed::bind, out);
}

// The values of settings are known from here on, or were not understood: then whatever they are, they
// stay with this session.
bool Session::bind_calls(const Frame& frame, const BindRequest& bind, const StatementEffect& does,
                         Outbox& out) {
    std::optional<std::vector<SettingChange>> changes;
    if (bind.well_formed() && frame.body_is_whole()) {
        const bool utf8 = told_.value("client_encoding") == "UTF8";
        changes = does.calls.bind(frame.body(), utf8);
    }
    if (!changes && (pins_ & kPinSettings) == 0 &&
        !admit_effect({.pins = true, .reasons = kPinSettings}, out)) {
        return false;
    }
    StatementEffect bound = does;
    bound.calls = {};
    if (changes) bound.changes = std::move(*changes);
    effects_.on_bind(bind.portal, &bound);
    return true;
}

bool Session::lent_describe(const Frame& frame, Outbox& out) {
    const TargetRequest target = parse_describe(frame.body(), frame.body_is_whole());
    if (target.kind != 'S' || !target.well_formed() || target.truncated) {
        forward(frame, target.kind == 'S' ? Owed::describe_statement : Owed::describe_portal, out);
        return true;
    }
    StatementWire to = wire(out);
    return pass_on(statements_.describe(target, to), frame, Owed::describe_statement, out);
}

void Session::note_portal(std::string_view portal, const StatementFacts& facts) {
    std::erase_if(lease_.portal_drops,
                  [portal](const PortalDrops& drops) { return drops.portal == portal; });
    if (!facts.does.text.drops_all_statements && facts.target.name.empty()) return;
    lease_.portal_drops.push_back(
        {std::string(portal), facts.does.text.drops_all_statements, facts.target.name});
}

bool Session::lent_execute(const Frame& frame, Outbox& out) {
    Note note = Note::none;
    if (effects_.has_portals() && !follow_execute(frame, out)) return false;
    if (!lease_.portal_drops.empty()) {
        const ExecuteRequest execute = parse_execute(frame.body(), frame.body_is_whole());
        StatementWire to = wire(out);
        for (const PortalDrops& portal : lease_.portal_drops) {
            if (portal.portal != execute.portal) continue;
            if (!portal.all && statements_.is_unsettled(portal.name, to)) return false;
            SessionStatements::Drops drops{.all = portal.all};
            if (!portal.all && statements_.knows(portal.name)) {
                if (statements_.hand_over(portal.name, true, to) == Passage::wait) return false;
                drops.given = portal.name;
            }
            note = statements_.execute(drops, to);
        }
    }
    forward(frame, Owed::execute, out, note);
    return true;
}

// A text that is about a prepared statement, before it is sent. False: it waits, or was refused.
bool Session::admit_target(const StatementTarget& target, Outbox& out) {
    if (target.kind == StatementTarget::Kind::none || ledger_.skipping()) return true;
    StatementWire to = wire(out);
    if (statements_.is_unsettled(target.name, to)) return false;
    const bool known = statements_.knows(target.name);
    if (looks_own(target.name) && (!known || target.kind == StatementTarget::Kind::prepare)) {
        refusal_ += no_such_statement(target.name);
        return false;
    }
    if (target.kind != StatementTarget::Kind::execute || !known) return true;
    return hand_over(target.name, out);
}

// Statements of the protocol that a text executes or drops by SQL are made under their own names.
bool Session::admit_later_targets(const TextEffect& effect, std::string_view text, Outbox& out) {
    if (!effect.names_statement || ledger_.skipping()) return true;
    const std::vector<std::string> names = read_later_targets(text);
    for (const std::string& name : names) {
        if (statements_.is_unsettled(name, wire(out))) return false;
        if (looks_own(name) && !statements_.knows(name)) {
            refusal_ += no_such_statement(name);
            return false;
        }
    }
    return std::all_of(names.begin(), names.end(), [this, &out](const std::string& name) {
        return !statements_.knows(name) || hand_over(name, out);
    });
}

bool Session::hand_over(std::string_view name, Outbox& out) {
    if (!admit_effect({.pins = true, .reasons = kPinNamedStatement}, out)) return false;
    StatementWire to = wire(out);
    return statements_.hand_over(name, false, to) != Passage::wait;
}

bool Session::lent_close(const Frame& frame, Outbox& out) {
    const TargetRequest target = parse_close(frame.body(), frame.body_is_whole());
    if (target.kind == 'P') {
        effects_.on_close_portal(target.name);
    } else {
        effects_.on_close_statement(target.name);
    }
    if (target.kind != 'S' || !target.well_formed() || target.truncated) {
        forward(frame, Owed::close, out);
        return true;
    }
    StatementWire to = wire(out);
    return pass_on(statements_.close(target, to), frame, Owed::close, out);
}

bool Session::unnamed_is_stuck() const {
    const UnnamedStatement::Version& unnamed = statements_.unnamed().latest();
    return unnamed.token != 0 && unnamed.message.empty();
}

}  // namespace pgb
