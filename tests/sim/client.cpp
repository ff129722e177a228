#include "tests/sim/client.h"

#include "protocol/writer.h"
#include "tests/sim/fake_postgres.h"

namespace pgb::sim {

namespace {
// Units without an answer; a few clients in the world pipeline more.
constexpr std::size_t kPipelineMax = 12;
}  // namespace

std::string Client::tag() {
    return "s" + std::to_string(session_) + "u" + std::to_string(units_.size() - 1) + "n" +
           std::to_string(next_tag_++);
}

Client::Unit& Client::begin_unit(std::string what, std::string expected) {
    units_.push_back({});
    units_.back().what = std::move(what);
    units_.back().expected = std::move(expected);
    return units_.back();
}

void Client::message(char type, std::string_view body) {
    const std::size_t before = wire_.size();
    MessageWriter(wire_).begin(type).bytes(body).end();
    queued_ += wire_.size() - before;
}

void Client::parse(const std::string& name, const std::string& text) {
    MessageWriter writer(wire_);
    const std::size_t before = wire_.size();
    writer.begin('P').cstring(name).cstring(text).u16(0).end();
    queued_ += wire_.size() - before;
}

void Client::bind(const std::string& name, const std::string& value) {
    MessageWriter writer(wire_);
    const std::size_t before = wire_.size();
    writer.begin('B').cstring("").cstring(name).u16(0).u16(value.empty() ? 0 : 1);
    if (!value.empty()) writer.u32(static_cast<std::uint32_t>(value.size())).bytes(value);
    writer.u16(0).end();
    queued_ += wire_.size() - before;
}

void Client::describe_portal() { message('D', std::string("P\0", 2)); }

void Client::run_statement(const std::string& text, bool describe) {
    parse("", text);
    bind("");
    if (describe) describe_portal();
    message('E', std::string("\0\0\0\0\0", 5));
    unnamed_known_ = false;
}

void Client::may_commit_here(std::vector<std::string> inserts) {
    if (!inserts.empty()) closings_.push_back({queued_, std::move(inserts)});
}

std::string Client::insert_text(bool never_commits) {
    const std::string name = tag();
    Books::Insert& insert = books_.inserts[name];
    insert.in_block = in_block_ && block_is_sure_;
    insert.never_commits = never_commits;
    open_inserts_.push_back(name);
    return "insert into t values ('" + name + "')";
}

// The end of a unit: outside a block everything in it may be stored now.
void Client::close_transaction_unit() {
    if (in_block_ && block_is_sure_) return;
    may_commit_here(std::move(open_inserts_));
    open_inserts_.clear();
}

std::string Client::take(std::size_t most) {
    std::string part = wire_.substr(0, most);
    wire_.erase(0, part.size());
    sent_ += part.size();
    while (!closings_.empty() && closings_.front().at <= sent_) {
        for (const std::string& name : closings_.front().inserts) {
            books_.inserts[name].may_commit = true;
        }
        closings_.erase(closings_.begin());
    }
    return part;
}

void Client::act() {
    if (fatal_) return;
    if (copy_ == Copy::sending) return continue_copy();
    if (copy_ == Copy::awaits_go) return;
    if (owes_sync_) {
        if (!dice_.once_in(4)) return;
        finish();
        return;
    }
    if (!units_.empty() && !units_.back().strict) return;
    if (stopped_ || units_.size() - head() >= kPipelineMax) return;
    switch (dice_.below(13)) {
        case 0:
        case 1:
        case 2: return act_simple();
        case 3:
        case 4: return act_batch();
        case 5:
        case 6:
        case 7: return act_block();
        case 8:
        case 9: return act_odd();
        case 10:
        case 11: return act_state();
        default: return act_copy();
    }
}

void Client::finish() {
    if (fatal_) return;
    if (copy_ == Copy::sending) {
        while (copy_ == Copy::sending) continue_copy();
    } else if (owes_sync_) {
        owes_sync_ = false;
        sync();
        close_transaction_unit();
    } else if (stopped_ && in_block_ && copy_ == Copy::none && units_.back().strict) {
        begin_unit("last ROLLBACK", "C");
        query("rollback");
        in_block_ = false;
        open_inserts_.clear();
    }
}

void Client::act_simple() {
    switch (dice_.below(8)) {
        case 0:
        case 1: begin_unit("select", "TDC"); return query("select '" + tag() + "'");
        case 2: begin_unit("sleep", "TDC"); return query("select pg_sleep(1), '" + tag() + "'");
        case 3: begin_unit("error", "E"); return query("select 1/0, '" + tag() + "'");
        case 4: {
            begin_unit("insert", "C");
            const std::string text = insert_text();
            units_.back().insert = open_inserts_.back();
            units_.back().block = in_block_ ? block_ : 0;
            query(text);
            return close_transaction_unit();
        }
        case 5: {
            begin_unit("insert and error", "CE");
            query(insert_text(true) + "; select 1/0, '" + tag() + "'");
            return close_transaction_unit();
        }
        case 6: return act_ping();
        default: begin_unit("empty", "I"); return query("");
    }
}

void Client::act_batch() {
    switch (dice_.below(7)) {
        case 0:
            begin_unit("batch select", "12TDC");
            run_statement("select '" + tag() + "'", true);
            break;
        case 1:
            begin_unit("batch sleep", "12DC");
            run_statement("select pg_sleep(1), '" + tag() + "'", false);
            break;
        case 2: {
            begin_unit("batch insert", "12C");
            run_statement(insert_text(), false);
            units_.back().insert = open_inserts_.back();
            units_.back().block = in_block_ ? block_ : 0;
            break;
        }
        case 3:
            begin_unit("batch insert, error", "12C12E");
            run_statement(insert_text(true), false);
            run_statement("select 1/0, '" + tag() + "'", false);
            break;
        case 4:
            begin_unit("batch of two", "12TDC12nC");
            run_statement("select '" + tag() + "'", true);
            run_statement(insert_text(), true);
            break;
        case 5: begin_unit("sync", ""); break;
        default:
            begin_unit("held batch", "12DC");
            run_statement("select '" + tag() + "'", false);
            message('H', "");
            owes_sync_ = true;
            return;
    }
    sync();
    close_transaction_unit();
}

void Client::act_block() {
    if (in_block_) {
        const bool rolls_back = dice_.once_in(3);
        const std::uint32_t form = dice_.below(4);
        if (form == 3) {
            begin_unit("savepoint", form == 3 ? "C" : "");
            return query("savepoint a");
        }
        begin_unit(rolls_back ? "rollback" : "commit", form == 2 ? "12C" : "C");
        units_.back().commits_block = !rolls_back;
        units_.back().block = block_;
        const std::string text = rolls_back ? "rollback" : "commit";
        if (form == 2) {
            run_statement(text, false);
        } else {
            query(text);
        }
        in_block_ = false;
        // A COMMIT stores at its Execute, before the Sync.
        if (!rolls_back) may_commit_here(open_inserts_);
        open_inserts_.clear();
        if (form == 2) sync();
        return;
    }
    ++block_;
    block_is_sure_ = begin_holds_;
    stored_claims_.clear();
    switch (dice_.below(6)) {
        case 0:
        case 1:
            begin_unit("begin", "C");
            query(dice_.once_in(2) ? "begin" : "begin isolation level serializable");
            in_block_ = true;
            return;
        case 2:
            begin_unit("batch begin", "12C");
            run_statement("begin", false);
            in_block_ = true;
            break;
        case 3:
            begin_unit("batch begin and insert", "12C12C");
            run_statement("begin", false);
            in_block_ = true;
            run_statement(insert_text(), false);
            break;
        case 4:
            // What stands before BEGIN becomes part of the block.
            begin_unit("batch select, begin, insert", "12DC12C12C");
            run_statement("select '" + tag() + "'", false);
            run_statement("begin", false);
            in_block_ = true;
            // When the first part fails the block never begins.
            block_is_sure_ = false;
            run_statement(insert_text(), false);
            sync();
            return close_transaction_unit();
        default: {
            begin_unit("block in one text", "CCC");
            in_block_ = true;
            const std::string text = "begin; " + insert_text() + "; commit";
            in_block_ = false;
            query(text);
            return close_transaction_unit();
        }
    }
    sync();
}

void Client::act_odd() {
    switch (dice_.below(5)) {
        case 0:
            begin_unit("function call", "V");
            message('F', std::string("\0\0\0\0\0\0\0\0\0\0", 10));
            return;
        case 1: {
            // Without an error both end by themselves; an error in the batch eats the Query.
            Unit& unit = begin_unit("batch ended by a query", "");
            unit.ready_max = 2;
            unit.strict = false;
            run_statement(
                dice_.once_in(2) ? "select '" + tag() + "'" : "select 1/0, '" + tag() + "'", false);
            query("select '" + tag() + "'");
            sync();
            return;
        }
        case 2:
        case 3: return act_named();
        default:
            if (unnamed_known_) {
                begin_unit("bind the unnamed again", "2DC");
                bind("");
                message('E', std::string("\0\0\0\0\0", 5));
                unnamed_known_ = false;
            } else {
                begin_unit("parse the unnamed", "1tT");
                parse("", "select 's" + std::to_string(session_) + "u0n0'");
                message('D', std::string("S\0", 2));
                unnamed_known_ = true;
            }
            sync();
            return close_transaction_unit();
    }
}

void Client::act_state() {
    const std::uint32_t form = dice_.below(8);
    if (in_block_ && (!block_is_sure_ || form > 4)) return;
    switch (form) {
        case 0:
        case 1: {
            const bool bound = form == 1 && dice_.once_in(2);
            begin_unit("set", form == 0 ? "C" : bound ? "12DC" : "12C");
            const std::string name = tag();
            units_.back().sets = name;
            units_.back().block = in_block_ ? block_ : 0;
            const std::string text = "set application_name = '" + name + "'";
            if (form == 0) return query(text);
            if (bound) {
                parse("", "select set_config('application_name', $1, false)");
                bind("", name);
                message('E', std::string("\0\0\0\0\0", 5));
                unnamed_known_ = false;
            } else {
                run_statement(text, false);
            }
            return sync();
        }
        case 2:
        case 3:
            begin_unit("show", "TDC");
            units_.back().block = in_block_ ? block_ : 0;
            return query("select shows('" + tag() + "')");
        case 4:
            begin_unit("reset", "C");
            units_.back().sets = "none";
            units_.back().block = in_block_ ? block_ : 0;
            return query("reset all");
        case 5: begin_unit("hidden", "TDC"); return query("select leaves('" + tag() + "')");
        default:
            begin_unit("discard all", "C");
            units_.back().sets = "none";
            names_ = 0;
            known_.clear();
            unnamed_known_ = false;
            return query("discard all");
    }
}

void Client::act_copy() {
    if (dice_.once_in(3)) {
        begin_unit("copy out", "HdcC");
        return query("copy t to stdout -- " + tag());
    }
    Unit& unit = begin_unit("copy in", "");
    unit.strict = false;
    const std::string text = "copy t from stdin -- " + tag();
    copy_extended_ = dice_.once_in(2);
    copy_ = Copy::awaits_go;
    if (copy_extended_) {
        run_statement(text, false);
        sync();
    } else {
        query(text);
    }
}

void Client::continue_copy() {
    Unit& unit = units_.back();
    switch (dice_.below(5)) {
        case 0: return message('d', "bad");
        case 1:
            sync();
            ++unit.ready_max;
            return;
        case 2: {
            const std::string name = tag();
            books_.inserts[name].in_block = in_block_ && block_is_sure_;
            open_inserts_.push_back(name);
            return message('d', name);
        }
        case 3: message('f', std::string("no\0", 3)); break;
        default: message('c', ""); break;
    }
    copy_ = Copy::none;
    if (copy_extended_) sync();
    close_transaction_unit();
}

}  // namespace pgb::sim
