// Messages while no backend takes part: answered here, refused, or the reason to ask for a permit.

#include "protocol/request.h"
#include "proxy/session/session.h"

namespace pgb {

bool Session::take_idle(const Frame& frame, std::string_view behind, const Turn& turn,
                        Outbox& out) {
    frontend_rest_ = Rest::drop;
    house_unit_ = HouseUnit::none;
    const std::optional<FrontendType> type = frontend_type(frame.type);
    if (!type || *type == FrontendType::password) return violation(frame, turn, out);
    if (*type == FrontendType::terminate) {
        out.decide(Decision::close_frontend);
        on_frontend_gone(Leaving::goodbye, turn, out);
        return true;
    }
    if (local_.is_discarding()) {
        local_.discard(frame, out);
        return true;
    }
    if (!refusal_.empty()) {
        refuse(frame, out);
        return true;
    }
    if (is_resident() && block_.state() == VirtualBlock::State::none) {
        return idle_resident(frame, out);
    }
    const bool taken = answer_or_ask(frame, *type, behind, out);
    if (taken) note_local_deadline(frame, turn);
    return taken;
}

bool Session::answer_or_ask(const Frame& frame, FrontendType type, std::string_view behind,
                            Outbox& out) {
    const std::string_view body = frame.body();
    const bool whole = frame.body_is_whole();
    switch (type) {
        case FrontendType::query: return idle_query(frame, out);
        case FrontendType::parse: return idle_parse(frame, behind, out);
        case FrontendType::bind: return idle_bind(frame, behind, out);
        case FrontendType::describe:
            return local_.describe(parse_describe(body, whole), kept(), out) ||
                   ask_to_describe(frame, behind, out);
        case FrontendType::execute:
            return local_.execute(parse_execute(body, whole), kept(), out) || ask(false, out);
        case FrontendType::function_call: return local_.function_call(out) || ask(false, out);
        case FrontendType::close: local_.close(parse_close(body, whole), kept(), out); return true;
        case FrontendType::sync: local_.sync(frame, out); return true;
        case FrontendType::flush: local_.flush(frame, out); return true;
        // Left over from a COPY that failed: PostgreSQL drops them without a word.
        case FrontendType::copy_data:
        case FrontendType::copy_done:
        case FrontendType::copy_fail:
        case FrontendType::password:
        case FrontendType::terminate: return true;
    }
    return true;
}

bool Session::idle_query(const Frame& frame, Outbox& out) {
    const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
    if (local_.query(frame, query, kept(), out)) return true;
    const bool whole = frame.body_is_whole();
    const Housekeeping kind = whole ? housekeeping_of(query.text) : Housekeeping::no;
    if (kind != Housekeeping::no && !ask_in_lane(kind, frame, {})) return false;
    const bool taken = ask_for_text(query.text, whole, out);
    aim_at_undone(query.text);
    return taken;
}

bool Session::idle_parse(const Frame& frame, std::string_view behind, Outbox& out) {
    const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
    if (local_.parse(frame, parse, kept(), out) || parse_late(frame, parse, behind, out)) {
        return true;
    }
    const bool whole = frame.body_is_whole();
    const Housekeeping kind = whole ? housekeeping_of(parse.text) : Housekeeping::no;
    if (kind != Housekeeping::no && !ask_in_lane(kind, frame, behind)) return false;
    return ask_for_text(parse.text, whole, out);
}

bool Session::idle_bind(const Frame& frame, std::string_view behind, Outbox& out) {
    const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
    if (local_.bind(bind, kept(), out)) return true;
    const StatementFacts* facts = statements_.facts(bind.statement);
    const Housekeeping kind = facts != nullptr ? facts->does.housekeeping : Housekeeping::no;
    if (kind != Housekeeping::no && !ask_in_lane(kind, frame, behind)) return false;
    return ask(facts != nullptr && facts->does.text.pins, out);
}

bool Session::ask_to_describe(const Frame& frame, std::string_view behind, Outbox& out) {
    const TargetRequest target = parse_describe(frame.body(), frame.body_is_whole());
    const StatementFacts* facts = target.kind == 'S' ? statements_.facts(target.name) : nullptr;
    if (facts != nullptr && !ask_in_lane(facts->does.housekeeping, frame, behind)) return false;
    return ask(false, out);
}

Kept Session::kept() const {
    if (is_resident()) return Kept::resident;
    return has_backend_ ? Kept::backend : Kept::nothing;
}

bool Session::ask(bool pins, Outbox& out) {
    if (pins && !pin_reserved_) {
        out.decide(Decision::ask_pin);
        // The answer comes before the next call; the message is looked at again.
        return false;
    }
    state_ = SessionState::queued;
    out.decide(house_unit_ == HouseUnit::none ? Decision::ask_permit : Decision::ask_housekeeping);
    return false;
}

bool Session::ask_for_text(std::string_view text, bool whole, Outbox& out) {
    judged_ = judge(text, whole);
    asked_ = {text, whole};
    aim_.reset();
    return ask(judged_->pins, out);
}

void Session::refuse(const Frame& frame, Outbox& out) {
    std::string& reply = out.scratch();
    reply.swap(refusal_);
    refusal_.clear();
    judged_.reset();
    aim_.reset();
    if (pin_reserved_ && pins_ == 0) drop_pin(out);
    local_.refuse(frame, reply, out);
    if (is_resident()) forget_unnamed(frame);
}

}  // namespace pgb
