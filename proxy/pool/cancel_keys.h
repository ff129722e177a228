#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pgb {

/// The BackendKeyData that clients got: which session a CancelRequest means (protocol manual 55.7,
/// BackendKeyData and CancelRequest). Process ids are positive; those of ours are given to one session
/// at a time. The secret is what counts.
class CancelKeys {
public:
    /// `key`: the secret, from a CSPRNG, 4 to 256 bytes, not empty. `random`: where the search for a
    /// free process id begins, so that ids say nothing about how many sessions there were.
    std::int32_t issue(std::uint64_t session, const std::string& key, std::uint32_t random);
    /// The same with the process id of the session's own backend. Another session may have it, too:
    /// one of another server, or one with an id of ours.
    void issue_as(std::int32_t pid, std::uint64_t session, const std::string& key);
    /// The session has ended: its id and key mean nobody. They must have been issued.
    void revoke(std::int32_t pid, std::uint64_t session);
    /// The session, if the id was issued and its key is this one. How long the comparison takes does
    /// not depend on the bytes of the key.
    [[nodiscard]] std::optional<std::uint64_t> find(std::int32_t pid, std::string_view key) const;

    [[nodiscard]] std::size_t size() const { return by_pid_.size(); }

private:
    /// A key of 4 bytes, which nearly all are, stands in the entry itself.
    class Entry {
    public:
        Entry(std::uint64_t of, const std::string& key);
        [[nodiscard]] bool has(std::string_view key) const;

        std::array<char, 4> short_key{};
        std::uint64_t session;

    private:
        std::unique_ptr<const std::string> long_key_;
    };

    std::unordered_multimap<std::int32_t, Entry> by_pid_;
};

}  // namespace pgb
