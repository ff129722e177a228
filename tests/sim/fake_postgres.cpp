#include "tests/sim/fake_postgres.h"

#include "protocol/cursor.h"
#include "protocol/error_response.h"
#include "protocol/rows.h"
#include "protocol/transaction_statement.h"
#include "protocol/writer.h"

namespace pgb::sim {

namespace {

std::uint32_t length_at(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 1; i < 5; ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

std::string first_string(std::string_view body) {
    return std::string(body.substr(0, body.find('\0')));
}

std::deque<std::string> split(const std::string& text) {
    std::deque<std::string> statements;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find("; ", at), text.size());
        if (end > at) statements.push_back(text.substr(at, end - at));
        at = end + 2;
    }
    return statements;
}

}  // namespace

bool ends_failed_block(const std::string& text) {
    const TransactionVerb verb = parse_transaction_statement(text).verb;
    return verb == TransactionVerb::commit || verb == TransactionVerb::rollback ||
           verb == TransactionVerb::rollback_to || verb == TransactionVerb::end_ ||
           verb == TransactionVerb::abort_;
}

std::string tag_of(const std::string& text) {
    const std::size_t dashes = text.find("-- ");
    if (dashes != text.npos) return text.substr(dashes + 3);
    const std::size_t end = text.rfind('\'');
    if (end == text.npos || end == 0) return "";
    const std::size_t begin = text.rfind('\'', end - 1);
    return text.substr(begin + 1, end - begin - 1);
}

namespace {
// A text with its parameter as a literal, if it has one; `rest` is that of a Bind behind the names.
std::string with_value(std::string text, std::string_view rest) {
    const std::size_t sign = text.find("$1");
    if (sign == text.npos) return text;
    Cursor cursor(rest);
    cursor.u16();
    cursor.u16();
    const std::uint32_t size = cursor.u32();
    return text.replace(sign, 2, "'" + std::string(cursor.bytes(size)) + "'");
}
}  // namespace

std::string FakePostgres::take_output(std::size_t most) {
    std::string part = sent_.substr(0, most);
    sent_.erase(0, part.size());
    return part;
}

bool FakePostgres::works() const {
    if (dead_) return false;
    if (work_ && !work_->statements.empty()) {
        const std::string& text = work_->statements.front();
        if (text != "DISCARD ALL" && text != "ROLLBACK") return true;
    }
    return block_ != Block::none || !pending_rows_.empty() || mode_ == Mode::copying_in;
}

// What is left of a COPY that has failed is dropped without a word whenever it is read.
bool FakePostgres::has_unread_work() const {
    std::string_view unread = input_;
    while (unread.size() >= 5 &&
           std::string_view("dcf").find(unread[0]) != std::string_view::npos) {
        const std::size_t size = length_at(unread) + 1;
        if (unread.size() < size) return true;
        unread.remove_prefix(size);
    }
    return !unread.empty();
}

std::string FakePostgres::why_not_clean() const {
    if (dead_) return "";
    if (work_) return "a statement runs";
    if (has_unread_work()) return "something is unread";
    if (!held_.empty() || !sent_.empty()) return "something is owed";
    if (mode_ != Mode::reading) return "it skips to Sync or copies";
    if (block_ != Block::none || implicit_) return "a transaction is open";
    if (!dirt_.empty()) return "the state of " + dirt_ + " is still there";
    for (const auto& [name, text] : statements_) {
        if (!name.empty() && !name.starts_with("pgb_")) return "the statement " + name;
    }
    return "";
}

std::optional<FakePostgres::Message> FakePostgres::next_message() {
    if (input_.size() < 5) return {};
    const std::uint32_t size = length_at(input_) + 1;
    if (input_.size() < size) return {};
    Message message{input_[0], input_.substr(5, size - 5)};
    input_.erase(0, size);
    return message;
}

void FakePostgres::run(Instant now) {
    now_ = now;
    if (stuck_ && now >= stuck_until_) die(false);
    if (stuck_) return;
    while (!dead_) {
        if (work_) {
            if (now < busy_until_) return;
            go_on();
            continue;
        }
        const std::optional<Message> message = next_message();
        if (!message) break;
        take(*message);
    }
    if (eof_ && !dead_ && !work_) die(false);
}

void FakePostgres::take(const Message& message) {
    if (mode_ == Mode::copying_in) return take_in_copy(message);
    if (message.type == 'S') return sync();
    if (mode_ == Mode::skipping) return;
    switch (message.type) {
        case 'Q': statements_.erase(""); return start(split(first_string(message.body)), true);
        case 'F': return function_call();
        case 'X': return die(false);
        case 'H': return flush();
        case 'd':
        case 'c':
        case 'f': return;
        default: return take_extended(message);
    }
}

void FakePostgres::take_extended(const Message& message) {
    implicit_ = true;
    switch (message.type) {
        case 'P': return parse(message.body);
        case 'B': return bind(message.body);
        case 'D': return describe(message.body);
        case 'C': {
            const std::string name = message.body.substr(1, message.body.size() - 2);
            (message.body[0] == 'S' ? statements_ : portals_).erase(name);
            return send('3', "");
        }
        case 'E': {
            const auto portal = portals_.find(first_string(message.body));
            if (portal == portals_.end()) return fail("34000", "no such portal");
            return start({portal->second}, false);
        }
        default: books_.complain("a message that no client sends reached a server"); die(true);
    }
}

void FakePostgres::take_in_copy(const Message& message) {
    switch (message.type) {
        case 'S':
        case 'H': return;
        case 'd':
            if (cancel_pending_) return fail("57014", "canceling statement due to user request");
            if (message.body == "bad") return fail("22P04", "bad row " + copy_tag_);
            pending_rows_.push_back(message.body);
            books_.on_execute(message.body, block_ == Block::open);
            return;
        case 'c': return end_copy();
        case 'f': return fail("57014", "COPY from stdin failed");
        default: send_error("ERROR", "08P01", "unexpected message type during COPY"); die(true);
    }
}

void FakePostgres::end_copy() {
    mode_ = Mode::reading;
    work_ = std::move(parked_);
    parked_.reset();
    complete("COPY 1");
    work_->statements.pop_front();
    busy_until_ = now_;
}

void FakePostgres::parse(const std::string& body) {
    const std::string name = first_string(body);
    const std::string text = first_string(std::string_view(body).substr(name.size() + 1));
    if (name.empty()) statements_.erase("");
    if (block_ == Block::failed && !ends_failed_block(text)) return fail("25P02", kAborted);
    if (!name.empty() && statements_.contains(name)) return fail("42P05", "already exists");
    statements_[name] = text;
    send('1', "");
}

void FakePostgres::bind(const std::string& body) {
    const std::string portal = first_string(body);
    const std::string name = first_string(std::string_view(body).substr(portal.size() + 1));
    const auto statement = statements_.find(name);
    if (statement == statements_.end()) return fail("26000", "no such statement");
    if (block_ == Block::failed && !ends_failed_block(statement->second)) {
        return fail("25P02", kAborted);
    }
    portals_[portal] = with_value(statement->second, body.substr(portal.size() + name.size() + 2));
    send('2', "");
}

void FakePostgres::describe(const std::string& body) {
    const std::string name = body.substr(1, body.size() - 2);
    const auto& known = body[0] == 'S' ? statements_ : portals_;
    const auto found = known.find(name);
    if (found == known.end()) return fail(body[0] == 'S' ? "26000" : "34000", "not there");
    check_owner(tag_of(found->second));
    if (body[0] == 'S') send('t', std::string(2, '\0'));
    if (found->second.starts_with("select")) {
        append_text_row_description(held_, {"value"});
    } else {
        send('n', "");
    }
}

void FakePostgres::function_call() {
    if (block_ == Block::failed) {
        send_error("ERROR", "25P02", kAborted);
        return ready();
    }
    send('V', std::string("\xff\xff\xff\xff"));
    end_work();
}

void FakePostgres::sync() {
    mode_ = Mode::reading;
    implicit_ = false;
    if (block_ == Block::none) {
        commit();
        portals_.clear();
    }
    ready();
}

void FakePostgres::fail(std::string_view sqlstate, std::string_view message) {
    send_error("ERROR", sqlstate, message);
    roll_back();
    if (block_ == Block::open) block_ = Block::failed;
    if (mode_ == Mode::copying_in) {
        mode_ = Mode::reading;
        work_ = std::move(parked_);
        parked_.reset();
    }
    cancel_pending_ = false;
    const bool simple = work_ && work_->simple;
    work_.reset();
    if (simple) {
        implicit_ = false;
        return ready();
    }
    mode_ = Mode::skipping;
    flush();
}

void FakePostgres::end_work() {
    work_.reset();
    implicit_ = false;
    if (block_ == Block::none) commit();
    ready();
}

void FakePostgres::commit() {
    for (const std::string& row : pending_rows_) books_.on_commit(row);
    pending_rows_.clear();
    if (setting_pending_) setting_ = *setting_pending_;
    setting_pending_.reset();
}

void FakePostgres::roll_back() {
    pending_rows_.clear();
    setting_pending_.reset();
}

void FakePostgres::ready() {
    append_ready_for_query(held_, block_ == Block::none   ? TransactionStatus::idle
                                  : block_ == Block::open ? TransactionStatus::in_block
                                                          : TransactionStatus::failed);
    flush();
}

void FakePostgres::cancel(Instant now) {
    if (dead_ || stuck_) return;
    now_ = now;
    if (mode_ == Mode::copying_in) {
        cancel_pending_ = true;
        return;
    }
    if (!work_ || work_->statements.empty()) return;
    const TransactionVerb verb = parse_transaction_statement(work_->statements.front()).verb;
    if (verb == TransactionVerb::commit || verb == TransactionVerb::end_) return;
    fail("57014", "canceling statement due to user request");
}

void FakePostgres::die(bool with_a_word) {
    if (dead_) return;
    if (with_a_word) {
        send_error("FATAL", "57P01", "terminating connection due to administrator command");
        flush();
    }
    roll_back();
    dead_ = true;
}

void FakePostgres::send(char type, std::string_view body) {
    MessageWriter(held_).begin(type).bytes(body).end();
    if (held_.size() > 8192) flush();
}

void FakePostgres::send_error(std::string_view severity, std::string_view sqlstate,
                              std::string_view message) {
    append_error(held_, {.severity = severity, .sqlstate = sqlstate, .message = message});
}

void FakePostgres::complete(std::string_view tag) { append_command_complete(held_, tag); }
void FakePostgres::send_row(std::string_view value) { append_text_row(held_, {value}); }

void FakePostgres::flush() {
    sent_ += held_;
    held_.clear();
}

void FakePostgres::check_owner(const std::string& tag) {
    const std::string who = session_of(tag);
    if (who.empty()) return;
    if (!dirt_.empty() && session_of(dirt_) != who) {
        books_.complain(tag + " ran on the state of " + dirt_);
    }
    if (!setting().empty() && session_of(setting()) != who) {
        books_.complain(tag + " ran with the setting of " + setting());
    }
}

}  // namespace pgb::sim
