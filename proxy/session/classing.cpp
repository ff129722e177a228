// Which texts tell the workload of a transaction and its deadline: that of the first message that needs a
// backend, be it in it or named by it, and of each unit in a pipeline that may begin a new one.

#include "protocol/deadline_tag.h"
#include "protocol/query_tags.h"
#include "protocol/request.h"
#include "proxy/session/session.h"

namespace pgb {

StatementText Session::text_of(const Frame& frame) const {
    const bool whole = frame.body_is_whole();
    switch (frame.type) {
        case static_cast<char>(FrontendType::query):
            return {parse_query(frame.body(), whole).text, whole};
        case static_cast<char>(FrontendType::parse):
            return {parse_parse(frame.body(), whole).text, whole};
        case static_cast<char>(FrontendType::bind):
            return {text_of_statement(parse_bind(frame.body(), whole).statement)};
        case static_cast<char>(FrontendType::describe): {
            const TargetRequest target = parse_describe(frame.body(), whole);
            return {target.kind == 'S' ? text_of_statement(target.name) : std::string_view()};
        }
        default: return {};
    }
}

std::string_view Session::text_of_statement(std::string_view name) const {
    const std::string_view text = statements_.text(name);
    return text.empty() ? tag_book_.comments_of(name) : text;
}

// Where the next message begins a unit of its own while an earlier one is not answered: it may be of
// another workload, or have a deadline. Inside a block nothing is asked; whether one is open is known
// as of the last ReadyForQuery.
bool Session::goes_ahead(const Frame& frame, Outbox& out) {
    if (ledger_.unsynced() || ledger_.settled()) return true;
    if (status_ != TransactionStatus::idle && !lease_.end_sent && !is_resident()) return true;
    switch (frame.type) {
        case static_cast<char>(FrontendType::query):
        case static_cast<char>(FrontendType::parse):
        case static_cast<char>(FrontendType::bind):
        case static_cast<char>(FrontendType::describe):
        case static_cast<char>(FrontendType::function_call): break;
        default: return true;
    }
    if (waits_for_deadline(frame)) return false;
    if (classed_by_ != ClassedBy::texts) return true;
    if (lease_.next_unit == NextUnit::unknown) {
        out.about(text_of(frame));
        // The answer comes before the next call; the message is looked at again.
        out.decide(Decision::ask_workload);
    }
    return lease_.next_unit == NextUnit::same;
}

void Session::note_comments(std::string_view name, std::string_view text, bool whole) {
    tag_book_.note(name, may_have_tags(text) ? tag_comments(text, whole) : std::string());
}

}  // namespace pgb
