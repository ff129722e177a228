#include "proxy/pool/cancel_keys.h"

#include <algorithm>
#include <limits>

#include "proxy/base/check.h"
#include "proxy/base/constant_time.h"

namespace pgb {

namespace {

constexpr std::uint32_t kLargestPid = std::numeric_limits<std::int32_t>::max();

}  // namespace

CancelKeys::Entry::Entry(std::uint64_t of, const std::string& key) : session(of) {
    if (key.size() == short_key.size()) {
        std::copy(key.begin(), key.end(), short_key.begin());
    } else {
        long_key_ = std::make_unique<const std::string>(key);
    }
}

bool CancelKeys::Entry::has(std::string_view key) const {
    const std::string_view mine = long_key_ != nullptr
                                      ? std::string_view(*long_key_)
                                      : std::string_view(short_key.data(), short_key.size());
    return equal_in_constant_time(mine, key);
}

std::int32_t CancelKeys::issue(std::uint64_t session, const std::string& key,
                               std::uint32_t random) {
    PGB_CHECK(!key.empty());
    PGB_CHECK(by_pid_.size() < kLargestPid);
    auto pid = static_cast<std::int32_t>(random % kLargestPid + 1);
    while (by_pid_.contains(pid)) {
        pid = pid == std::numeric_limits<std::int32_t>::max() ? 1 : pid + 1;
    }
    by_pid_.emplace(pid, Entry(session, key));
    return pid;
}

void CancelKeys::issue_as(std::int32_t pid, std::uint64_t session, const std::string& key) {
    PGB_CHECK(pid > 0 && !key.empty());
    by_pid_.emplace(pid, Entry(session, key));
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
        if (entry->second.has(key)) return entry->second.session;
    }
    return std::nullopt;
}

}  // namespace pgb
