#include "proxy/session/unnamed_statement.h"

#include <algorithm>

#include "proxy/base/check.h"

namespace pgb {

namespace {
// Of a pipeline that is over; a session at rest keeps no more.
constexpr std::size_t kSpareVersions = 4;
}  // namespace

void UnnamedStatement::assign(Version& version, std::uint64_t token, std::string_view message,
                              const StatementFacts& facts) {
    version.token = token;
    version.message.assign(message.size() <= kMessageMax ? message : std::string_view());
    version.facts = facts;
}

void UnnamedStatement::sent(std::uint64_t token, std::string_view message,
                            const StatementFacts& facts) {
    if (end_ == versions_.size()) versions_.emplace_back();
    assign(versions_[end_], token, message, facts);
    ++end_;
}

void UnnamedStatement::confirmed() {
    PGB_CHECK(begin_ + 1 < end_);
    ++begin_;
    shift();
}

void UnnamedStatement::failed() {
    PGB_CHECK(begin_ + 1 < end_);
    ++begin_;
    versions_[begin_].token = 0;
    shift();
}

void UnnamedStatement::skipped() {
    PGB_CHECK(begin_ + 1 < end_);
    std::swap(versions_[begin_], versions_[begin_ + 1]);
    ++begin_;
    shift();
}

// With nothing under way the one that counts moves to the front.
void UnnamedStatement::shift() {
    if (begin_ + 1 < end_) return;
    if (begin_ != 0) std::swap(versions_[0], versions_[begin_]);
    begin_ = 0;
    end_ = 1;
    if (versions_.size() > kSpareVersions) {
        versions_.resize(kSpareVersions);
        versions_.shrink_to_fit();
    }
}

void UnnamedStatement::set(std::uint64_t token, std::string_view message,
                           const StatementFacts& facts) {
    forget_sent();
    assign(versions_[begin_], token, message, facts);
}

void UnnamedStatement::drop() {
    // The rule: most sessions never have one when a Query comes.
    if (begin_ + 1 == end_ && versions_[begin_].token == 0) return;
    set(0, {}, {});
}

void UnnamedStatement::forget_sent() {
    // Whatever became of it, PostgreSQL's unnamed statement would no longer be the one before it.
    if (begin_ + 1 < end_) versions_[begin_].token = 0;
    end_ = begin_ + 1;
    shift();
}

}  // namespace pgb
