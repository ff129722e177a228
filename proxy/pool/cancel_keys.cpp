#include "proxy/pool/cancel_keys.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/base/constant_time.h"

namespace pgb {

namespace {

constexpr std::uint32_t kLargestPid = std::numeric_limits<std::int32_t>::max();

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
