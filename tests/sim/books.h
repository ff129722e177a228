#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pgb::sim {

/// The truth that no part of the proxy sees: what clients have sent in full, what the servers have
/// stored, and every rule that was broken. Tags name who sent what: `s<session>u<unit>n<number>`.
struct Books {
    struct Insert {
        bool in_block = false;    ///< its client had sent BEGIN and no end of the block before it
        bool may_commit = false;  ///< whatever ends its transaction well was sent in full
        bool never_commits = false;  ///< an error behind it in the same transaction undoes it
        int executed = 0;
    };

    std::map<std::string, Insert> inserts;
    std::set<std::string> rows;
    std::vector<std::string> broken;

    void complain(std::string what) { broken.push_back(std::move(what)); }

    void on_execute(const std::string& tag, bool in_block) {
        const auto found = inserts.find(tag);
        if (found == inserts.end()) return complain("an INSERT that nobody sent: " + tag);
        if (++found->second.executed > 1) complain("an INSERT ran twice: " + tag);
        if (found->second.in_block && !in_block) {
            complain("an INSERT of a block ran outside it: " + tag);
        }
    }
    void on_commit(const std::string& tag) {
        const Insert& insert = inserts[tag];
        if (!insert.may_commit) complain("stored without a COMMIT or Sync: " + tag);
        if (insert.never_commits) complain("stored in spite of an error behind it: " + tag);
        rows.insert(tag);
    }
};

/// `12` of `s12u3n4`; empty when it is no tag.
inline std::string session_of(const std::string& tag) {
    const auto end = tag.find('u');
    return tag.size() > 1 && tag[0] == 's' && end != tag.npos ? tag.substr(1, end - 1) : "";
}

}  // namespace pgb::sim
