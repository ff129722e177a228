// How a fake server runs statements.

#include "protocol/rows.h"
#include "protocol/transaction_statement.h"
#include "tests/sim/fake_postgres.h"

namespace pgb::sim {

void FakePostgres::start(std::deque<std::string> statements, bool simple) {
    work_ = Work{std::move(statements), simple};
    cancel_pending_ = false;
    busy_until_ = now_;
    if (work_->statements.empty()) {
        send('I', "");
        end_work();
        return;
    }
    const std::string& text = work_->statements.front();
    if (text.find("pg_sleep") != text.npos) {
        busy_until_ = now_ + std::chrono::milliseconds(1 + dice_.below(60));
    } else if (dice_.once_in(3)) {
        busy_until_ = now_ + std::chrono::microseconds(dice_.below(4000));
    }
}

// The statement at the front has taken its time.
void FakePostgres::go_on() {
    if (work_->statements.empty()) {
        if (work_->simple) return end_work();
        work_.reset();
        return;
    }
    const std::string text = work_->statements.front();
    const bool simple = work_->simple;
    if (block_ == Block::failed && !ends_failed_block(text)) return fail("25P02", kAborted);
    if (!execute(text, simple)) return;
    work_->statements.pop_front();
    if (dice_.once_in(4)) busy_until_ = now_ + std::chrono::microseconds(dice_.below(3000));
}

// False: failed, or it goes on with the client's data.
bool FakePostgres::execute(const std::string& statement, bool simple) {
    const std::string tag = tag_of(statement);
    check_owner(tag);
    bool known = false;
    const bool done = execute_verb(statement, known);
    if (known) return done;
    if (statement.starts_with("select 1/0")) {
        fail("22012", "division by zero " + tag);
        return false;
    }
    if (statement.starts_with("select")) {
        if (statement.find("set_config") != statement.npos) setting_pending_ = tag;
        if (statement.find("leaves") != statement.npos) dirt_ = tag;
        if (simple) append_text_row_description(held_, {"value"});
        send_row(statement.find("shows") != statement.npos ? tag + "=" + setting() : tag);
        complete("SELECT 1");
        return true;
    }
    if (statement.starts_with("insert")) {
        books_.on_execute(tag, block_ == Block::open);
        pending_rows_.push_back(tag);
        complete("INSERT 0 1");
        return true;
    }
    if (statement.starts_with("copy t from")) {
        send('G', std::string("\0\0\0", 3));
        flush();
        mode_ = Mode::copying_in;
        copy_tag_ = tag;
        // Parked until CopyDone; the client's messages are read by run().
        parked_ = std::move(work_);
        work_.reset();
        return false;
    }
    if (statement.starts_with("copy t to")) {
        send('H', std::string("\0\0\0", 3));
        send('d', tag);
        send('c', "");
        complete("COPY 1");
        return true;
    }
    const bool set = execute_setting(statement, known);
    if (known) return set;
    if (statement == "discard all" || statement == "DISCARD ALL") {
        if (block_ != Block::none || !pending_rows_.empty()) {
            fail("25001", "DISCARD ALL cannot run inside a transaction block");
            return false;
        }
        dirt_.clear();
        setting_.clear();
        statements_.clear();
        portals_.clear();
        complete("DISCARD ALL");
        return true;
    }
    if (statement == "SELECT SESSION_USER") {
        send_row("alice");
        complete("SELECT 1");
        return true;
    }
    books_.complain("a text that no client sends reached a server: " + statement);
    fail("42601", "syntax error");
    return false;
}

// SET and RESET, and now and then no more of what once was set.
bool FakePostgres::execute_setting(const std::string& statement, bool& known) {
    const bool call = statement.starts_with("SELECT pg_catalog.set_config");
    const bool own = call || statement.starts_with("SET ");
    if (own || statement.starts_with("set ")) {
        known = true;
        if (own && dice_.once_in(30)) {
            fail("22023", "invalid value");
            return false;
        }
        setting_pending_ = tag_of(statement);
        if (call) send_row(*setting_pending_);
        complete(call ? "SELECT 1" : "SET");
    } else if (statement == "RESET ALL" || statement == "reset all") {
        known = true;
        setting_pending_ = "";
        complete("RESET");
    }
    return true;
}

bool FakePostgres::execute_verb(const std::string& statement, bool& known) {
    const TransactionStatement parsed = parse_transaction_statement(statement);
    known = parsed.verb != TransactionVerb::none;
    switch (parsed.verb) {
        case TransactionVerb::begin:
        case TransactionVerb::start_transaction:
            if (block_ == Block::none) block_ = Block::open;
            break;
        case TransactionVerb::commit:
        case TransactionVerb::end_: {
            const bool failed = block_ == Block::failed;
            if (failed)
                roll_back();
            else
                commit();
            block_ = Block::none;
            complete(failed ? "ROLLBACK" : "COMMIT");
            return true;
        }
        case TransactionVerb::rollback:
        case TransactionVerb::abort_:
            roll_back();
            block_ = Block::none;
            break;
        case TransactionVerb::savepoint:
            if (block_ == Block::open) break;
            fail("25P01", "SAVEPOINT can only be used in transaction blocks");
            return false;
        case TransactionVerb::rollback_to:
            if (block_ == Block::none) {
                fail("25P01", "ROLLBACK TO can only be used in transaction blocks");
                return false;
            }
            fail("3B001", "savepoint does not exist");
            return false;
        case TransactionVerb::none:
        case TransactionVerb::empty:
        case TransactionVerb::commit_and_chain:
        case TransactionVerb::rollback_and_chain:
        case TransactionVerb::release:
        case TransactionVerb::set_transaction:
        case TransactionVerb::prepare_transaction:
        case TransactionVerb::commit_prepared:
        case TransactionVerb::rollback_prepared: break;
    }
    if (known) complete(command_tag(parsed.verb));
    return true;
}

}  // namespace pgb::sim
