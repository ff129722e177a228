#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/model.h"
#include "config/network.h"
#include "config/pattern.h"
#include "protocol/query_tags.h"

namespace pgb::config {

/// What is known of a transaction when its workload is chosen. Views are used during the call only.
struct Subject {
    std::string_view database;
    std::string_view user;
    std::string_view application_name;
    std::string_view listener;
    std::string_view client;     ///< its address without a port; of a Unix socket none
    std::string_view text = {};  ///< of the statement that begins the transaction; empty: it is not
                                 ///< known, and no rule that looks at it matches
    bool whole = true;           ///< false: `text` is the beginning of a longer one
    std::string_view chosen = {};  ///< the workload that the session asks for by name; empty: none
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

/// The conditions of a rule, in the order in which they are looked at: those that a login decides
/// for good, then those that may change with each transaction, the dearest last.
enum class Condition : std::uint8_t {
    database,
    user,
    listener,
    client,
    application_name,
    tag,
    query
};

/// Chooses the workload of a transaction: rules in file order, the first whose conditions all hold;
/// the last one, `default`, takes the rest. Pure; allocates nothing per transaction.
///
/// A session may choose by name. A name is the client's word, as tags are: it stands for the tag
/// that a rule asks for, and nothing else. So it counts if all other conditions of that workload
/// hold; else the rules decide as if it had not been said.
class Classifier {
public:
    /// `config` must have passed load(): globs and patterns that do not compile are a bug there.
    explicit Classifier(const Config& config);

    /// The rules whose conditions on the login hold, in file order: indexes into Config::workloads.
    /// Of the subject only database, user, listener and client are looked at.
    using Candidates = std::vector<std::uint16_t>;
    [[nodiscard]] Candidates candidates(const Subject& subject) const;
    /// The choice among them; of the subject only the rest is looked at. Nothing: none of them.
    [[nodiscard]] std::optional<std::size_t> choose(const Candidates& candidates,
                                                    const Subject& subject) const;
    /// Both in one: an index into Config::workloads.
    [[nodiscard]] std::size_t workload_of(const Subject& subject) const;

    /// The first condition of a rule that does not hold; nothing: the rule matches. `by_name`: the
    /// session has chosen the workload, which stands for its tag.
    [[nodiscard]] std::optional<Condition> unmet(std::size_t workload, const Subject& subject,
                                                 bool by_name = false) const;

    /// Whether any rule does.
    [[nodiscard]] bool looks_at_application_name() const { return looks_at_application_name_; }
    [[nodiscard]] bool looks_at_text() const { return looks_at_text_; }

private:
    struct Rule {
        std::string name;
        std::optional<Glob> database;
        std::optional<Glob> user;
        std::optional<Glob> application_name;
        std::optional<std::string> listener;
        std::optional<Network> client;
        std::vector<std::pair<std::string, std::string>> tag;
        std::optional<Pattern> query;
    };
    static Rule compile(const Workload& workload);
    /// The tags of a subject, read when the first rule asks for them.
    class Tags {
    public:
        explicit Tags(const Subject& subject) : subject_(subject) {}
        [[nodiscard]] bool have(const Rule& rule);

    private:
        const Subject& subject_;
        std::optional<QueryTags> read_;
    };
    static std::optional<Condition> unmet_by_login(const Rule& rule, const Subject& subject);
    static std::optional<Condition> unmet_by_statement(const Rule& rule, const Subject& subject,
                                                       bool by_name, Tags& tags);
    [[nodiscard]] std::optional<std::size_t> chosen_by_name(const Candidates& candidates,
                                                            const Subject& subject) const;

    std::vector<Rule> rules_;
    bool looks_at_application_name_ = false;
    bool looks_at_text_ = false;
};

}  // namespace pgb::config
