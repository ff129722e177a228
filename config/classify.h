#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "config/network.h"

namespace pgb::config {

/// What is known of a transaction when its workload is chosen. Views are used during the call only.
struct Subject {
    std::string_view database;
    std::string_view user;
    std::string_view application_name;
    std::string_view listener;
    std::string_view client;  ///< its address without a port; of a Unix socket none
};

/// A compiled pattern: `*` any run of bytes, `?` one byte, `[a-z]`, `[!a-z]` or `[^a-z]` one byte of
/// (not of) a set; a backslash takes the next byte as it is. Matches the whole text, byte by byte,
/// case-sensitively. A match costs at most text times pattern steps, never more: stars do not nest.
class Glob {
public:
    /// Nothing when the pattern is malformed: an open `[`, an empty set, a lone backslash at the end.
    [[nodiscard]] static std::optional<Glob> compile(std::string_view pattern);

    [[nodiscard]] bool matches(std::string_view text) const;

private:
    struct Piece {
        bool star = false;
        std::bitset<256> set;  // of one byte, when not a star
    };
    std::vector<Piece> pieces_;
};

/// Chooses the workload of a transaction: rules in file order, the first whose conditions all hold;
/// the last one, `default`, takes the rest. Pure, no allocation per call. Only the conditions that
/// are built take part: database, user, application_name, listener, client.
class Classifier {
public:
    /// `config` must have passed load(): globs that do not compile are a bug there.
    explicit Classifier(const Config& config);

    /// Index into Config::workloads.
    [[nodiscard]] std::size_t workload_of(const Subject& subject) const;
    /// Whether any rule does.
    [[nodiscard]] bool looks_at_application_name() const;

private:
    struct Rule {
        std::optional<Glob> database;
        std::optional<Glob> user;
        std::optional<Glob> application_name;
        std::optional<std::string> listener;
        std::optional<Network> client;
    };
    static bool holds(const Rule& rule, const Subject& subject);

    std::vector<Rule> rules_;
};

}  // namespace pgb::config
