#include "proxy/pool/cancel_keys.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {

constexpr std::uint32_t kLargestPid = std::numeric_limits<std::int32_t>::max();

// Reads every byte whatever it finds: an early end would tell a guesser how many bytes are right.
bool equal_in_constant_time(std::string_view one, std::string_view other) {
    if (one.size() != other.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        const unsigned mine = static_cast<unsigned char>(one[i]);
        const unsigned theirs = static_cast<unsigned char>(other[i]);
        difference |= mine ^ theirs;
    }
    return difference == 0;
}

}  // namespace

std::int32_t CancelKeys::issue(std::uint64_t session, std::string key, std::uint32_t random) {
    PGB_CHECK(!key.empty());
    PGB_CHECK(by_pid_.size() < kLargestPid);
    auto pid = static_cast<std::int32_t>(random % kLargestPid + 1);
    while (by_pid_.contains(pid)) {
        pid = pid == std::numeric_limits<std::int32_t>::max() ? 1 : pid + 1;
    }
    by_pid_.emplace(pid, Entry{session, std::move(key)});
    return pid;
}

void CancelKeys::issue_as(std::int32_t pid, std::uint64_t session, std::string key) {
    PGB_CHECK(pid > 0 && !key.empty());
    by_pid_.emplace(pid, Entry{session, std::move(key)});
}

void CancelKeys::revoke(std::int32_t pid, std::uint64_t session) {
    const auto [first, last] = by_pid_.equal_range(pid);
    const auto found =
        std::find_if(first, last, [session](const auto& e) { return e.second.session == session; });
    PGB_CHECK(found != last);
    by_pid_.erase(found);
}

std::optional<std::uint64_t> CancelKeys::find(std::int32_t pid, std::string_view key) const {
    const auto [first, last] = by_pid_.equal_range(pid);
    for (auto entry = first; entry != last; ++entry) {
        if (equal_in_constant_time(entry->second.key, key)) return entry->second.session;
    }
    return std::nullopt;
}

}  // namespace pgb
