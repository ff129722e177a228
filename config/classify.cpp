#include "config/classify.h"

#include <utility>

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

Classifier::Classifier(const Config& config) {
    for (const Workload& workload : config.workloads) {
        const auto& client = workload.match.client;
        rules_.push_back({compiled(workload.match.database), compiled(workload.match.user),
                          compiled(workload.match.application_name), workload.match.listener,
                          client ? Network::parse(*client) : std::nullopt});
    }
}

bool Classifier::holds(const Rule& rule, const Subject& subject) {
    return (!rule.database || rule.database->matches(subject.database)) &&
           (!rule.user || rule.user->matches(subject.user)) &&
           (!rule.application_name || rule.application_name->matches(subject.application_name)) &&
           (!rule.listener || *rule.listener == subject.listener) &&
           (!rule.client || rule.client->contains(subject.client));
}

bool Classifier::looks_at_application_name() const {
    for (const Rule& rule : rules_) {
        if (rule.application_name) return true;
    }
    return false;
}

std::size_t Classifier::workload_of(const Subject& subject) const {
    for (std::size_t i = 0; i + 1 < rules_.size(); ++i) {
        if (holds(rules_[i], subject)) return i;
    }
    return rules_.size() - 1;
}

}  // namespace pgb::config
