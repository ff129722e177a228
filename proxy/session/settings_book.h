#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/session/setting_change.h"

namespace pgb {

/// Settings in force, each by the statement that gave it its value, in the order in which they were
/// given: a session has one of what it has set and PostgreSQL has confirmed, a backend one of what
/// is in force there. Everything that is not in it is as the startup packet left it.
///
/// Invariants:
///   B1  a name is there at most once; setting it again moves it to the end.
///   B2  setting or resetting session_authorization removes role, as PostgreSQL does.
///   B3  never more than kNamesMax names or kBytesMax bytes.
///   B4  while a text with bytes above 0x7f is there, client_encoding does not change: those bytes
///       mean what they meant when they came.
///
/// Two books are equal when the same statements in the same order are in them; comparing costs a
/// comparison of bytes, and nothing when both are empty.
class SettingsBook {
public:
    static constexpr std::size_t kNamesMax = 64;
    static constexpr std::size_t kBytesMax = 16384;

    /// False: the change would break B3 or B4, and nothing was changed.
    [[nodiscard]] bool apply(const SettingChange& change);

    [[nodiscard]] bool empty() const { return packed_.empty(); }
    [[nodiscard]] bool has(std::string_view name) const { return !text_of(name).empty(); }
    /// The statement that gave `name` its value; empty when none did. Valid until the next change.
    [[nodiscard]] std::string_view text_of(std::string_view name) const;
    bool operator==(const SettingsBook& other) const = default;
    /// 0 for an empty book; equal books have equal fingerprints. Not proof against an adversary.
    [[nodiscard]] std::uint64_t fingerprint() const;
    void clear() { packed_.clear(); }

    /// Calls `visit(text)` for each setting in order.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::string_view rest = packed_; !rest.empty();) {
            const Entry entry = front(rest);
            visit(entry.text);
            rest.remove_prefix(entry.size);
        }
    }

private:
    struct Entry {
        std::string_view name;
        std::string_view text;
        std::size_t size = 0;  // with both NULs
    };
    static Entry front(std::string_view rest);
    void remove(std::string_view name);
    void keep_identity_only();
    [[nodiscard]] bool set(const SettingChange& change);
    [[nodiscard]] bool has_other_bytes() const;

    std::string packed_;  // name NUL text NUL, in order
};

}  // namespace pgb
