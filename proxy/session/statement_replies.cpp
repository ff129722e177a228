// What is answered: only now do the books change.

#include <charconv>

#include "protocol/message_type.h"
#include "protocol/writer.h"
#include "proxy/base/check.h"
#include "proxy/session/session_statements.h"

namespace pgb {

std::string_view SessionStatements::on_error() {
    PGB_CHECK(!pending_.empty());
    PendingStatement& front = pending_.front();
    front.failed = true;
    return front.kind == PendingKind::refuse ? std::string_view(front.text) : std::string_view();
}

std::string_view SessionStatements::name_of(std::uint64_t number, BackendBook& book) const {
    for (const auto& [early, name] : bound_early_) {
        if (early == number) return name;
    }
    const PendingStatement* coming = pending_.newest(
        [number](const PendingStatement& pending) { return pending.number == number; });
    if (coming != nullptr && coming->kind == PendingKind::parse) return coming->name;
    for (const auto& [name, statement] : names_) {
        if (book.statements.number_of(statement->id) == number) return name;
    }
    return {};
}

std::string SessionStatements::in_client_words(std::string_view body, BackendBook& book) const {
    constexpr std::string_view kMark = "\"pgb_s";
    const std::size_t at = body.find(kMark);
    if (at == body.npos) return {};
    std::uint64_t number = 0;
    const char* digits = body.data() + at + kMark.size();
    const auto read = std::from_chars(digits, body.data() + body.size(), number);
    const std::string_view name = name_of(number, book);
    if (read.ec != std::errc() || name.empty()) return {};
    std::string message;
    MessageWriter(message)
        .begin(BackendType::error_response)
        .bytes(body.substr(0, at + 1))
        .bytes(name)
        .bytes(body.substr(static_cast<std::size_t>(read.ptr - body.data())))
        .end();
    return message;
}

void SessionStatements::on_noted(const NotedReplies& noted, BackendBook& book) {
    std::uint32_t left = noted.skipped + (noted.answered ? 1 : 0);
    for (bool answered = noted.answered; left > 0; --left, answered = false) {
        PGB_CHECK(!pending_.empty());
        PendingStatement& front = pending_.front();
        if (answered) ++front.replies_taken;
        if (--front.replies_due > 0) {
            if (front.kind == PendingKind::parse || front.kind == PendingKind::prepare) {
                shape_.start();
            }
            continue;
        }
        finish(front, book);
        pending_.pop_front();
    }
}

void SessionStatements::finish(PendingStatement& done, BackendBook& book) {
    const bool answered = done.replies_taken > 0 && !done.failed;
    switch (done.kind) {
        case PendingKind::parse: finish_parse(done, book); return;
        case PendingKind::prepare: finish_prepare(done, book); return;
        case PendingKind::duplicate:
            if (answered) book.statements.retire(statement_name(done.number));
            return;
        case PendingKind::close:
            if (answered) drop_name(done.name);
            return;
        case PendingKind::close_all:
            if (answered) drop_names();
            if (done.drops_unnamed) finish_unnamed(done, book);
            return;
        case PendingKind::deallocate:
            // What was given to it may still be there.
            if (!answered) book.statements.retire(std::move(done.name));
            if (done.drops_unnamed) finish_unnamed(done, book);
            return;
        case PendingKind::retire:
            if (!answered) book.statements.retire(std::move(done.name));
            return;
        case PendingKind::refuse: return;
        case PendingKind::unnamed_parse:
        case PendingKind::unnamed_drop:
        case PendingKind::unnamed_again:
        case PendingKind::unnamed_foreign: finish_unnamed(done, book); return;
    }
}

void SessionStatements::finish_parse(PendingStatement& done, BackendBook& book) {
    note_parse(done);
    if (done.replies_taken == 0) return;
    // A Describe that was cancelled says nothing: then any rows are right.
    const bool described = done.replies_taken == 2;
    const SharedStatement& statement =
        registry_.intern({.text = done.text,
                          .types = described ? std::string_view(shape_.types()) : done.types,
                          .settings = settings_,
                          .rows = described ? shape_.rows() : kUnknownRows},
                         done.facts);
    drop_name(done.name);
    names_.emplace(std::move(done.name), &statement);
    if (done.doubtful) {
        book.statements.retire(statement_name(done.number));
        return;
    }
    registry_.count_evicted(
        book.statements.map(statement.id, done.number, registry_.limits().backend_max));
}

void SessionStatements::finish_prepare(const PendingStatement& done, BackendBook& book) {
    if (done.replies_taken == 0) return;
    const bool has_rows = done.rows > kUnknownRows;
    const bool alike = !has_rows || (done.replies_taken == 2 && shape_.rows() == done.rows);
    if (!alike && done.replies_taken == 2) {
        changed_ = done.id;
        doubt_known();
    }
    if (!alike || done.doubtful) {
        book.statements.retire(statement_name(done.number));
        return;
    }
    registry_.count_evicted(
        book.statements.map(done.id, done.number, registry_.limits().backend_max));
}

void SessionStatements::finish_unnamed(const PendingStatement& done, BackendBook& book) {
    const bool of_frontend = done.kind == PendingKind::unnamed_parse ||
                             done.kind == PendingKind::unnamed_drop || done.drops_unnamed;
    const bool tried = done.replies_taken > 0 || done.failed;
    if (tried) {
        const bool made = !done.failed && (done.kind == PendingKind::unnamed_parse ||
                                           done.kind == PendingKind::unnamed_again);
        book.statements.unnamed = made ? done.number : 0;
    }
    if (!of_frontend) return;
    if (!tried) {
        unnamed_.skipped();
    } else if (done.failed && done.kind == PendingKind::unnamed_parse) {
        unnamed_.failed();
    } else {
        unnamed_.confirmed();
    }
}

void SessionStatements::end_lease() {
    pending_.clear();
    unnamed_.forget_sent();
    changed_ = 0;
    bound_early_.clear();
}

void SessionStatements::set_name(std::string_view name, std::string_view text,
                                 const StatementFacts& facts) {
    const StatementKey key{.text = text, .types = {}, .settings = settings_, .rows = kNoRows};
    names_.insert_or_assign(std::string(name), &registry_.intern(key, facts));
}

void SessionStatements::drop_name(std::string_view name) {
    const auto found = names_.find(name);
    if (found == names_.end()) return;
    registry_.release(*found->second);
    names_.erase(found);
}

void SessionStatements::drop_names() {
    for (const auto& [name, statement] : names_) registry_.release(*statement);
    names_.clear();
}

}  // namespace pgb
