#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proxy/pool/cancel_keys.h"
#include "proxy/pool/orphans.h"
#include "tests/support/catch.h"

namespace pgb {
namespace {

Instant at_ms(int ms) { return Instant(std::chrono::milliseconds(ms)); }

}  // namespace

TEST_CASE("cancel keys: an id with its key finds its session and no other", "[pool]") {
    CancelKeys keys;
    const std::int32_t first = keys.issue(11, "secret-1", 1000);
    const std::int32_t second = keys.issue(22, "secret-2", 2000);
    CHECK(keys.find(first, "secret-1") == std::optional<std::uint64_t>(11));
    CHECK(keys.find(second, "secret-2") == std::optional<std::uint64_t>(22));
    CHECK_FALSE(keys.find(first, "secret-2").has_value());
    CHECK_FALSE(keys.find(first, "secret-").has_value());
    CHECK_FALSE(keys.find(first, "secret-12").has_value());
    CHECK_FALSE(keys.find(first, "").has_value());
    CHECK_FALSE(keys.find(first + 1, "secret-1").has_value());
}

TEST_CASE("cancel keys: ids are positive and unique, whatever random number is given", "[pool]") {
    CancelKeys keys;
    std::set<std::int32_t> seen;
    const std::uint32_t top = std::numeric_limits<std::uint32_t>::max();
    for (const std::uint32_t random : {0U, 0U, 0U, top, top, 0x7fffffffU, 0x7fffffffU, 0x7ffffffeU,
                                       0x7ffffffeU, 0x80000000U, 1U, 1U}) {
        const std::int32_t pid = keys.issue(seen.size(), "key", random);
        CHECK(pid > 0);
        CHECK(seen.insert(pid).second);
    }
}

TEST_CASE("cancel keys: a revoked id means nobody and may be issued again", "[pool]") {
    CancelKeys keys;
    const std::int32_t pid = keys.issue(1, "old", 77);
    keys.revoke(pid, 1);
    CHECK_FALSE(keys.find(pid, "old").has_value());
    CHECK(keys.size() == 0);
    CHECK(keys.issue(2, "new", 77) == pid);
    CHECK_FALSE(keys.find(pid, "old").has_value());
    CHECK(keys.find(pid, "new") == std::optional<std::uint64_t>(2));
}

TEST_CASE("cancel keys: two sessions with one id are told apart by their keys", "[pool]") {
    CancelKeys keys;
    const std::int32_t pid = keys.issue(1, "ours", 77);
    keys.issue_as(pid, 2, "theirs");
    CHECK(keys.find(pid, "ours") == std::optional<std::uint64_t>(1));
    CHECK(keys.find(pid, "theirs") == std::optional<std::uint64_t>(2));
    keys.revoke(pid, 1);
    CHECK_FALSE(keys.find(pid, "ours").has_value());
    CHECK(keys.find(pid, "theirs") == std::optional<std::uint64_t>(2));
}

TEST_CASE("orphans: a hold ends at its time and not before", "[pool]") {
    Orphans orphans(2);
    CHECK(orphans.next_deadline().is_never());
    orphans.add({0, 1}, 1, at_ms(200));
    orphans.add({1, 1}, 0, at_ms(100));
    CHECK(orphans.next_deadline() == at_ms(100));
    std::vector<Orphan> out;
    orphans.expire(at_ms(99), out);
    CHECK(out.empty());
    orphans.expire(at_ms(100), out);
    REQUIRE(out.size() == 1);
    CHECK(out[0].backend == BackendId{1, 1});
    CHECK(orphans.count(0) == 0);
    CHECK(orphans.count(1) == 1);
    CHECK(orphans.next_deadline() == at_ms(200));
}

TEST_CASE("orphans: one that PostgreSQL no longer has leaves at once, and only once", "[pool]") {
    Orphans orphans(1);
    orphans.add({3, 7}, 0, at_ms(100));
    CHECK_FALSE(orphans.remove({3, 8}));
    CHECK(orphans.remove({3, 7}));
    CHECK_FALSE(orphans.remove({3, 7}));
    CHECK(orphans.size() == 0);
    CHECK(orphans.count(0) == 0);
    std::vector<Orphan> out;
    orphans.expire(at_ms(1000), out);
    CHECK(out.empty());
}

}  // namespace pgb
