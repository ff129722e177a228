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

UnnamedStatement::Version& UnnamedStatement::at(std::size_t place) {
    return versions_[(begin_ + place) % versions_.size()];
}

void UnnamedStatement::sent(std::uint64_t token, std::string_view message,
                            const StatementFacts& facts) {
    if (count_ == versions_.size()) {
        rotate();
        versions_.emplace_back();
    }
    assign(at(count_), token, message, facts);
    ++count_;
}

void UnnamedStatement::confirmed() { advance(); }

void UnnamedStatement::failed() {
    advance();
    at(0).token = 0;
}

void UnnamedStatement::skipped() {
    PGB_CHECK(count_ > 1);
    std::swap(at(0), at(1));
    advance();
}

void UnnamedStatement::advance() {
    PGB_CHECK(count_ > 1);
    begin_ = (begin_ + 1) % versions_.size();
    --count_;
    give_memory_back();
}

void UnnamedStatement::rotate() {
    std::rotate(versions_.begin(), versions_.begin() + static_cast<std::ptrdiff_t>(begin_),
                versions_.end());
    begin_ = 0;
}

void UnnamedStatement::give_memory_back() {
    if (count_ > 1 || versions_.size() <= kSpareVersions) return;
    rotate();
    versions_.resize(kSpareVersions);
    versions_.shrink_to_fit();
}

void UnnamedStatement::set(std::uint64_t token, std::string_view message,
                           const StatementFacts& facts) {
    forget_sent();
    assign(at(0), token, message, facts);
}

void UnnamedStatement::drop() {
    forget_sent();
    at(0).token = 0;
}

void UnnamedStatement::forget_sent() {
    if (count_ == 1) return;
    // Whatever became of it, PostgreSQL's unnamed statement would no longer be the one before it.
    at(0).token = 0;
    count_ = 1;
    give_memory_back();
}

}  // namespace pgb
