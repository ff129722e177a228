#include "proxy/admin/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "proxy/admin/statement_mask.h"

namespace pgb {

namespace {

using Json = nlohmann::ordered_json;

// In a log line a statement is there to be recognised; the whole of it is in the JSON.
constexpr std::size_t kLoggedStatementMax = 160;
// A client may call itself anything.
constexpr std::size_t kLoggedNameMax = 64;

double seconds(Duration duration) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration);
    return static_cast<double>(std::max<std::int64_t>(milliseconds.count(), 0)) / 1000.0;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json to_json(const LockHolder& lock_holder) {
    return {{"pid", lock_holder.pid},
            {"state", text_or_null(lock_holder.state)},
            {"client", text_or_null(lock_holder.client)},
            {"application_name", lock_holder.application_name},
            {"user", text_or_null(lock_holder.user)},
            {"database", text_or_null(lock_holder.database)}};
}

Json to_json(const Holder& holder, Instant now) {
    Json waits_for = Json::array();
    for (const LockHolder& lock_holder : holder.waits_for) {
        waits_for.push_back(to_json(lock_holder));
    }
    Json statement;
    if (!holder.statement.empty()) {
        statement = mask_statement(holder.statement, holder.statement_whole);
    }
    return {{"workload", holder.workload},
            {"state", to_word(holder.state)},
            {"age_seconds", seconds(now - holder.granted_at)},
            {"state_seconds", seconds(now - holder.state_since)},
            {"pid", holder.pid != 0 ? Json(holder.pid) : Json()},
            {"database", holder.database},
            {"user", holder.user},
            {"client", holder.client},
            {"application_name", holder.application_name},
            {"statement", std::move(statement)},
            {"waits_for", std::move(waits_for)}};
}

// A quote within is doubled, so that no name can be read as more than one.
std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) {
        if (c == '\'') result += c;
        result += c;
    }
    return result += '\'';
}

// Not in the middle of a character.
std::string shortened(std::string text, std::size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
    text.resize(limit);
    return text + "...";
}

std::string describe(const Holder& holder, Instant now) {
    std::string text = fmt::format("{:.1f}s {} pid={} client={}", seconds(now - holder.granted_at),
                                   to_word(holder.state), holder.pid, holder.client);
    if (!holder.application_name.empty()) {
        text += " application=" + quoted(shortened(holder.application_name, kLoggedNameMax));
    }
    if (!holder.statement.empty()) {
        const std::string masked = mask_statement(holder.statement, holder.statement_whole);
        text += " statement=" + quoted(shortened(masked, kLoggedStatementMax));
    }
    return text;
}

std::string describe(const LockHolder& lock_holder) {
    if (lock_holder.pid == 0) return "a prepared transaction";
    return fmt::format("pid={} {} client={} application={}", lock_holder.pid, lock_holder.state,
                       lock_holder.client.empty() ? "unix" : lock_holder.client,
                       quoted(shortened(lock_holder.application_name, kLoggedNameMax)));
}

void append_item(std::string& list, const std::string& item) {
    if (!list.empty()) list += "; ";
    list += item;
}

}  // namespace

HttpAnswer answer_holders(const HolderList& list) {
    Json states = Json::object();
    for (const HolderState state : kHolderStates) {
        states[std::string(to_word(state))] = list.shares[index_of(state)].count;
    }
    Json holders = Json::array();
    for (const Holder& holder : list.holders) holders.push_back(to_json(holder, list.made));
    const Json body = {{"states", std::move(states)},
                       {"left_out", list.left_out},
                       {"holders", std::move(holders)}};
    return {200, "application/json; charset=utf-8",
            body.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'};
}

std::string describe_oldest(const HolderList& list, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < std::min(count, list.holders.size()); ++i) {
        append_item(text, describe(list.holders[i], list.made));
    }
    return text;
}

std::string describe_lock_holders(const HolderList& list, std::size_t count) {
    std::vector<std::uint32_t> told;
    std::string text;
    for (const Holder& holder : list.holders) {
        for (const LockHolder& lock_holder : holder.waits_for) {
            if (told.size() == count) return text;
            if (std::find(told.begin(), told.end(), lock_holder.pid) != told.end()) continue;
            told.push_back(lock_holder.pid);
            append_item(text, describe(lock_holder));
        }
    }
    return text;
}

std::string describe_shares(const HolderList& list) {
    // Each counts for a nanosecond at least: several that have just begun share alike.
    const auto weight = [](const StateShare& share) {
        return static_cast<double>(share.time.count()) + static_cast<double>(share.count);
    };
    double all = 0;
    for (const StateShare& share : list.shares) all += weight(share);
    std::string text;
    for (const HolderState state : kHolderStates) {
        const StateShare& share = list.shares[index_of(state)];
        if (share.count == 0) continue;
        if (!text.empty()) text += ' ';
        text += fmt::format("{}={:.0f}%", to_word(state), 100 * weight(share) / all);
    }
    return text;
}

}  // namespace pgb
