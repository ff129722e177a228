// The texts by which pools clean a connection, of a session that keeps no backend and is in no block:
// all that it has is in the books, so that is where it is undone. What PostgreSQL would report to
// have changed is what its backends have reported while nothing was set on them.

#include <algorithm>
#include <utility>

#include "protocol/rows.h"
#include "protocol/startup.h"
#include "proxy/session/local_answers.h"
#include "proxy/session/reset_text.h"

namespace pgb {

namespace {

// A void value is an empty text.
void append_void_row(std::string& reply) {
    constexpr std::string_view kName = "pg_advisory_unlock_all";
    append_void_row_description(reply, kName);
    append_text_row(reply, {{}});
}

SettingsBook behind(SettingsBook settings, std::span<const Reset> steps) {
    for (const Reset step : steps) {
        using Kind = SettingChange::Kind;
        SettingChange change{Kind::reset, {}, {}};
        switch (step) {
            case Reset::reset_all: change.kind = Kind::reset_all; break;
            case Reset::discard_all: change.kind = Kind::discard_all; break;
            case Reset::authorization:
            case Reset::authorization_by_reset: change.name = "session_authorization"; break;
            case Reset::role: change.name = "role"; break;
            case Reset::close_all:
            case Reset::unlisten_all:
            case Reset::deallocate_all:
            case Reset::discard_plans:
            case Reset::discard_sequences:
            case Reset::discard_temp:
            case Reset::unlock_all: continue;
        }
        // Nothing of these can fail; a setting that stays is known by the book's not being empty.
        static_cast<void>(settings.apply(change));
    }
    return settings;
}

}  // namespace

bool LocalAnswers::reset(std::string_view text, Kept kept, std::string& reply) {
    if (kept != Kept::nothing || books_.block.state() != VirtualBlock::State::none) return false;
    const std::optional<ResetText> read = ResetText::read(text);
    if (!read) return false;
    // No pool sends this one alone: who does looks at a sequence next, of which no book tells.
    const std::span<const Reset> steps = read->steps();
    if (steps.size() == 1 && steps.front() == Reset::discard_sequences) return false;
    SettingsBook left = behind(books_.settings, steps);
    const bool changes = left != books_.settings;
    // What is left needs a backend to be told with.
    if (changes && (!left.empty() || unset_ == nullptr)) return false;
    for (const Reset step : steps) {
        if (step == Reset::unlock_all) append_void_row(reply);
        append_command_complete(reply, tag_of(step));
        if (step == Reset::deallocate_all || step == Reset::discard_all) {
            books_.statements.drop_names();
        }
    }
    if (changes) forget_settings(std::move(left), reply);
    return true;
}

void LocalAnswers::forget_settings(SettingsBook behind, std::string& reply) {
    books_.settings = std::move(behind);
    unset_->for_each([&](std::string_view name, std::string_view value) {
        if (books_.told.set(name, value)) append_parameter_status(reply, name, value);
    });
}

}  // namespace pgb
