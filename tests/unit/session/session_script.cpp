#include "tests/unit/session/session_script.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include "protocol/error_response.h"
#include "protocol/rows.h"
#include "protocol/startup.h"
#include "protocol/writer.h"

namespace pgb::test {

namespace {

constexpr std::array<std::string_view, 14> kDecisionWords{
    "ask_permit",   "ask_housekeeping", "ask_backend",  "ask_pin",       "ask_workload",
    "leave_queue",  "end_lease",        "keep_backend", "unpin",         "close_backend",
    "drop_backend", "orphan_backend",   "cancel",       "close_frontend"};

bool is_text(const std::string& word) { return !word.empty() && word[0] == '"'; }
std::string text_of(const std::string& word) { return word.substr(1, word.size() - 2); }

void append_message(std::string& out, char type, std::string_view body) {
    MessageWriter(out).begin(type).bytes(body).end();
}

// Strings end in a NUL; this says "a name" in the body of a message.
std::string name_at(std::string_view body) { return std::string(body.substr(0, body.find('\0'))); }

// A message to the backend in the words of the language.
std::string backend_word(char type, std::string_view body) {
    std::string word(1, type);
    switch (type) {
        case 'Q': return word + "(" + name_at(body) + ")";
        case 'P': {
            const std::string name = name_at(body);
            return word + "(" + (name.empty() ? "" : name + ":") +
                   name_at(body.substr(name.size() + 1)) + ")";
        }
        case 'B': {
            const std::string portal = name_at(body);
            const std::string name = name_at(body.substr(portal.size() + 1));
            return name.empty() ? word : word + "(" + name + ")";
        }
        case 'C':
        case 'D': return word + "(" + std::string(1, body[0]) + name_at(body.substr(1)) + ")";
        default: return word;
    }
}

// A message to the frontend: tag, SQLSTATE with severity if it is not ERROR, or status.
std::string frontend_word(char type, std::string_view body) {
    std::string word(1, type);
    if (type == 'Z') return word + std::string(body);
    if (type == 'C') return word + "(" + name_at(body) + ")";
    if (type == 'S' && !body.empty()) {
        const std::string name = name_at(body);
        return word + "(" + name + "=" + name_at(body.substr(name.size() + 1)) + ")";
    }
    if (type != 'E' && type != 'N') return word;
    const auto fields = parse_error(body);
    if (!fields) return word + "(?)";
    const std::string severity =
        fields->severity == "ERROR" || type == 'N' ? "" : std::string(fields->severity) + " ";
    std::string reason;
    const std::string hint(fields->hint);
    if (const auto at = hint.find("reason="); at != hint.npos) {
        reason = " " + hint.substr(at + 7, hint.find(' ', at) - at - 7);
    }
    return word + "(" + severity + std::string(fields->sqlstate) + reason + ")";
}

template <typename Word>
std::string words_of(std::string_view bytes, Word word_of) {
    std::string words;
    while (bytes.size() >= 5) {
        std::uint32_t size = 1;
        for (std::size_t i = 1; i < 5; ++i) {
            size += static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]))
                    << (8 * (4 - i));
        }
        if (size > bytes.size()) break;
        words += " " + word_of(bytes[0], bytes.substr(5, size - 5));
        bytes.remove_prefix(size);
    }
    return bytes.empty() ? words : words + " +" + std::to_string(bytes.size()) + "bytes";
}

std::string joined(const std::vector<std::string_view>& views) {
    std::string bytes;
    for (const std::string_view view : views) bytes += view;
    return bytes;
}

ShedFacts refusal(const std::string& reason) {
    for (const ShedReason known : kShedReasons) {
        if (to_word(known) != reason) continue;
        ShedFacts facts;
        facts.reason = known;
        facts.workload = "oltp";
        facts.sqlstate = "40001";
        facts.retry_after = std::chrono::milliseconds(250);
        return facts;
    }
    throw std::invalid_argument("no such reason: " + reason);
}

}  // namespace

std::vector<std::string> script_words(const std::string& line) {
    std::vector<std::string> words;
    std::size_t at = 0;
    while ((at = line.find_first_not_of(" \t", at)) != line.npos) {
        const std::size_t end =
            line[at] == '"' ? line.find('"', at + 1) + 1 : line.find_first_of(" \t", at);
        words.push_back(line.substr(at, end == line.npos ? end : end - at));
        at = end == line.npos ? line.size() : end;
    }
    return words;
}

SessionScript::SessionScript(Rest rest)
    : rest_(rest),
      tables_{frontend_heads(4096), backend_heads(4096), &tracking_},
      session_(std::make_unique<Session>(tables_, statements_)) {}

// Whatever happens next, nobody must notice that this is another session.
void SessionScript::rest_if_it_may() {
    if (rest_ == Rest::never || !session_->is_at_rest()) return;
    const SessionSeed seed = session_->seed();
    session_ = std::make_unique<Session>(tables_, statements_, seed);
    if (watches_) session_->class_by(ClassedBy::texts);
}

std::string SessionScript::step(const std::vector<std::string>& words) {
    rest_if_it_may();
    if (words[0] == "f") {
        frontend(words);
        feed();
    } else if (words[0] == "half") {
        frontend(words);
        input_.resize(input_.size() - 2);
        feed();
    } else if (words[0] == "b") {
        backend(words);
        const std::size_t used = session_->on_backend(replies_, turn(), out_);
        std::string found = collect();
        replies_.erase(0, used);
        out_.clear();
        if (session_->takes_input() && !input_.empty()) {
            feed();
            const std::string more = collect();
            out_.clear();
            return found.empty() || more.empty() ? found + more : found + " " + more;
        }
        return found;
    } else {
        event(words);
        if (words[0] != "busy" && words[0] != "quiet" && words[0] != "state" &&
            words[0] != "ready") {
            feed();
        }
        if (words[0] == "state") {
            static constexpr std::array<const char*, 9> kStates{
                "idle",   "queued",   "waiting_backend", "preparing", "starting",
                "active", "settling", "winding_up",      "closed"};
            return kStates[static_cast<std::size_t>(session_->state())];
        }
    }
    std::string found = collect();
    out_.clear();
    return found;
}

void SessionScript::feed() {
    while (!input_.empty() && session_->takes_input()) {
        const std::size_t before = out_.decisions().size();
        // The outbox will hold views of what was taken.
        const std::string& seen = kept_.emplace_back(input_);
        const std::size_t used = session_->on_frontend(seen, turn(), out_);
        input_.erase(0, used);
        if (used == 0 || out_.decisions().size() != before) break;
    }
}

void SessionScript::frontend(const std::vector<std::string>& words) {
    const auto text_behind = [&words](std::size_t at) {
        return at + 1 < words.size() && is_text(words[at + 1]);
    };
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (is_text(word)) continue;
        const std::string name = word.substr(1);
        const std::string text = text_behind(i) ? text_of(words[i + 1]) : "";
        MessageWriter writer(input_);
        switch (word[0]) {
            case 'Q': writer.begin('Q').cstring(text).end(); break;
            case 'P': writer.begin('P').cstring(name).cstring(text).u16(0).end(); break;
            case 'B': writer.begin('B').cstring("").cstring(name).u16(0).u16(0).u16(0).end(); break;
            case 'D':
            case 'C': writer.begin(word[0]).bytes(name.empty() ? "P" : name).u8(0).end(); break;
            case 'E': writer.begin('E').cstring("").u32(0).end(); break;
            case 'F': writer.begin('F').u32(0).u16(0).u16(0).u16(0).end(); break;
            case 'd': writer.begin('d').bytes("1\n").end(); break;
            case 'f': writer.begin('f').cstring("no").end(); break;
            default: append_message(input_, word[0], ""); break;
        }
    }
}

void SessionScript::backend(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        const std::string value = word.substr(1);
        switch (word[0]) {
            case 'Z': append_message(replies_, 'Z', value); break;
            case 'C': {
                std::string tag = value;
                for (char& c : tag) c = c == '_' ? ' ' : c;
                append_command_complete(replies_, tag);
                break;
            }
            case 'S':
                append_parameter_status(replies_, value.substr(0, value.find('=')),
                                        value.substr(value.find('=') + 1));
                break;
            case 'E': append_error(replies_, {.sqlstate = value, .message = "words"}); break;
            case '!':
                append_error(replies_,
                             {.severity = "FATAL", .sqlstate = value, .message = "words"});
                break;
            case 'N': append_notice(replies_, {.sqlstate = "01000", .message = "words"}); break;
            case 'T': append_text_row_description(replies_, {"a"}); break;
            case 'U': append_text_row_description(replies_, {"a", "b"}); break;
            case 'D': append_text_row(replies_, {"1"}); break;
            case 't': append_parameter_description(replies_, {}); break;
            case 'G':
            case 'H': append_message(replies_, word[0], std::string("\0\0\0", 3)); break;
            case '+':
                append_text_row(replies_, {"1"});
                replies_.resize(replies_.size() - 1);
                break;
            default: append_message(replies_, word[0], ""); break;
        }
    }
}

void SessionScript::event(const std::vector<std::string>& words) {
    const std::string& what = words[0];
    const std::string argument = words.size() > 1 ? words[1] : "";
    const LeaseRules rules{.holder_idle = std::chrono::seconds(10),
                           .deadline = deadline_,
                           .cancel_after_leave = std::chrono::seconds(1),
                           .reset_timeout = std::chrono::seconds(2),
                           .cancel_timeout = std::chrono::seconds(3)};
    if (what == "permit") {
        session_->on_permit(rules, turn(), out_);
    } else if (what == "resident") {
        session_->become_resident(book_, rules);
    } else if (what == "refused") {
        session_->on_refused(refusal(argument));
    } else if (what == "unavailable") {
        session_->on_backend_unavailable(argument, "words");
    } else if (what == "backend" || what == "ready") {
        session_->on_backend_ready(book_, turn(), out_);
    } else if (what == "another") {
        book_ = {};
        if (!argument.empty()) {
            (void)book_.settings.apply({SettingChange::Kind::set, argument, "SET " + argument});
        }
    } else if (what == "reports") {
        book_.reported.set(argument, words.at(2));
    } else if (what == "pin") {
        if (argument == "ok") {
            session_->on_pin_granted(turn(), out_);
        } else {
            session_->on_pin_denied(refusal("pin_limit"), turn(), out_);
        }
    } else if (what == "foreign") {
        book_.statements.unnamed = statements_.fresh_token();
    } else if (what == "other") {
        book_ = {};
    } else if (what == "cancel") {
        session_->on_cancel_request(turn(), out_);
    } else if (what == "cancelled") {
        session_->on_cancel_closed(argument == "surely", turn(), out_);
    } else if (what == "lost") {
        session_->on_backend_lost(turn(), out_);
    } else if (what == "gone") {
        input_.clear();
        session_->on_frontend_gone(argument == "fin" ? Leaving::goodbye : Leaving::reset, turn(),
                                   out_);
    } else if (what == "tick") {
        now_ = now_ + std::chrono::milliseconds(std::stol(argument));
        session_->on_tick(turn(), blocked_, out_);
    } else if (what == "deadline") {
        deadline_ = std::chrono::milliseconds(std::stol(argument));
    } else if (what == "drain") {
        session_->on_drain(turn(), out_);
    } else if (what == "watch") {
        session_->class_by(ClassedBy::texts);
        watches_ = true;
    } else if (what == "workload") {
        session_->on_workload(argument == "same");
    } else if (what == "busy" || what == "quiet") {
        contended_ = what == "busy";
    } else if (what == "blocked") {
        blocked_ = true;
    } else if (what != "state") {
        throw std::invalid_argument("no such event: " + what);
    }
}

std::string SessionScript::collect() {
    const std::string to_backend = joined(out_.backend_bytes());
    const std::string to_frontend = joined(out_.frontend_bytes());
    std::string found;
    const auto add = [&found](const std::string& part) {
        if (!part.empty()) found += (found.empty() ? "" : " ") + part;
    };
    if (!to_backend.empty()) add("b" + words_of(to_backend, backend_word));
    if (!to_frontend.empty()) add("f" + words_of(to_frontend, frontend_word));
    for (const Decision decision : out_.decisions()) {
        std::string word(kDecisionWords[static_cast<std::size_t>(decision)]);
        const bool asks = decision == Decision::ask_permit ||
                          decision == Decision::ask_housekeeping ||
                          decision == Decision::ask_workload;
        if (asks && watches_) word += "(" + std::string(out_.subject().text) + ")";
        const Instant due = session_->due(deadline_);
        if (decision == Decision::ask_permit && !due.is_never()) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - now_);
            word += " by " + std::to_string(left.count());
        }
        add(word);
    }
    kept_.clear();
    return found;
}

}  // namespace pgb::test
