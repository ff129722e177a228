#include "config/classify.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace pgb::config {
namespace {

unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }

/// Reads a set from behind its `[`; moves `pattern` behind its `]`. An empty set is malformed.
std::optional<std::bitset<256>> take_set(std::string_view& pattern) {
    std::bitset<256> set;
    const bool negated = !pattern.empty() && (pattern[0] == '!' || pattern[0] == '^');
    if (negated) pattern.remove_prefix(1);
    for (bool first = true;; first = false) {
        if (pattern.empty()) return std::nullopt;
        if (pattern[0] == ']' && !first) break;
        if (pattern[0] == '\\') pattern.remove_prefix(1);
        if (pattern.empty()) return std::nullopt;
        const unsigned char low = byte_of(pattern[0]);
        unsigned char high = low;
        pattern.remove_prefix(1);
        // A `-` just before the `]` is itself.
        if (pattern.size() >= 2 && pattern[0] == '-' && pattern[1] != ']') {
            high = byte_of(pattern[1]);
            pattern.remove_prefix(2);
        }
        for (unsigned c = low; c <= high; ++c) set.set(c);
    }
    pattern.remove_prefix(1);
    if (negated) set.flip();
    return set.any() ? std::optional(set) : std::nullopt;
}

std::optional<Glob> compiled(const std::optional<std::string>& pattern) {
    return pattern ? Glob::compile(*pattern) : std::nullopt;
}

}  // namespace

std::optional<Glob> Glob::compile(std::string_view pattern) {
    Glob glob;
    while (!pattern.empty()) {
        const char c = pattern[0];
        pattern.remove_prefix(1);
        Piece piece;
        if (c == '*') {
            if (!glob.pieces_.empty() && glob.pieces_.back().star) continue;
            piece.star = true;
        } else if (c == '?') {
            piece.set.set();
        } else if (c == '[') {
            const auto set = take_set(pattern);
            if (!set) return std::nullopt;
            piece.set = *set;
        } else if (c == '\\') {
            if (pattern.empty()) return std::nullopt;
            piece.set.set(byte_of(pattern[0]));
            pattern.remove_prefix(1);
        } else {
            piece.set.set(byte_of(c));
        }
        glob.pieces_.push_back(piece);
    }
    return glob;
}

bool Glob::matches(std::string_view text) const {
    // Only the last star seen ever has to take one byte more: whatever an earlier one could give up,
    // the later one can take as well.
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t piece = 0;
    std::size_t star = kNone;
    std::size_t star_at = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        if (piece < pieces_.size() && pieces_[piece].star) {
            star = piece++;
            star_at = at;
        } else if (piece < pieces_.size() && pieces_[piece].set.test(byte_of(text[at]))) {
            ++piece;
            ++at;
        } else if (star != kNone) {
            piece = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (piece < pieces_.size() && pieces_[piece].star) ++piece;
    return piece == pieces_.size();
}

Classifier::Rule Classifier::compile(const Workload& workload) {
    const Match& match = workload.match;
    Rule rule{.name = workload.name,
              .database = compiled(match.database),
              .user = compiled(match.user),
              .application_name = compiled(match.application_name),
              .listener = match.listener,
              .client = match.client ? Network::parse(*match.client) : std::nullopt,
              .tag = match.tag,
              .query = std::nullopt};
    if (match.query) {
        auto pattern = Pattern::compile(*match.query);
        if (auto* made = std::get_if<Pattern>(&pattern)) rule.query = std::move(*made);
    }
    return rule;
}

Classifier::Classifier(const Config& config) {
    rules_.reserve(config.workloads.size());
    for (const Workload& workload : config.workloads) {
        const Rule& rule = rules_.emplace_back(compile(workload));
        looks_at_application_name_ = looks_at_application_name_ || rule.application_name;
        looks_at_text_ = looks_at_text_ || !rule.tag.empty() || rule.query;
    }
}

bool Classifier::Tags::have(const Rule& rule) {
    if (!read_) read_.emplace(subject_.text, subject_.whole);
    return std::all_of(rule.tag.begin(), rule.tag.end(),
                       [this](const auto& pair) { return read_->has(pair.first, pair.second); });
}

std::optional<Condition> Classifier::unmet_by_login(const Rule& rule, const Subject& subject) {
    if (rule.database && !rule.database->matches(subject.database)) return Condition::database;
    if (rule.user && !rule.user->matches(subject.user)) return Condition::user;
    if (rule.listener && *rule.listener != subject.listener) return Condition::listener;
    if (rule.client && !rule.client->contains(subject.client)) return Condition::client;
    return std::nullopt;
}

std::optional<Condition> Classifier::unmet_by_statement(const Rule& rule, const Subject& subject,
                                                        bool by_name, Tags& tags) {
    if (rule.application_name && !rule.application_name->matches(subject.application_name)) {
        return Condition::application_name;
    }
    if (!rule.tag.empty() && !by_name && !tags.have(rule)) return Condition::tag;
    if (rule.query && (subject.text.empty() || !rule.query->matches(subject.text))) {
        return Condition::query;
    }
    return std::nullopt;
}

std::optional<Condition> Classifier::unmet(std::size_t workload, const Subject& subject,
                                           bool by_name) const {
    const Rule& rule = rules_[workload];
    if (const auto by_login = unmet_by_login(rule, subject)) return by_login;
    Tags tags(subject);
    return unmet_by_statement(rule, subject, by_name, tags);
}

Classifier::Candidates Classifier::candidates(const Subject& subject) const {
    Candidates found;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!unmet_by_login(rules_[i], subject)) found.push_back(static_cast<std::uint16_t>(i));
    }
    return found;
}

std::optional<std::size_t> Classifier::chosen_by_name(const Candidates& candidates,
                                                      const Subject& subject) const {
    for (const std::size_t i : candidates) {
        if (rules_[i].name != subject.chosen) continue;
        Tags tags(subject);
        if (unmet_by_statement(rules_[i], subject, true, tags)) return std::nullopt;
        return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Classifier::choose(const Candidates& candidates,
                                              const Subject& subject) const {
    if (!subject.chosen.empty()) {
        if (const auto named = chosen_by_name(candidates, subject)) return named;
    }
    Tags tags(subject);
    for (const std::size_t i : candidates) {
        if (!unmet_by_statement(rules_[i], subject, false, tags)) return i;
    }
    return std::nullopt;
}

std::size_t Classifier::workload_of(const Subject& subject) const {
    return choose(candidates(subject), subject).value_or(rules_.size() - 1);
}

}  // namespace pgb::config
