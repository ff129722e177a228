#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pgb {

/// A statement that takes something back that a session may have left behind.
enum class Reset : std::uint8_t {
    close_all,               ///< CLOSE ALL
    unlisten_all,            ///< UNLISTEN *
    reset_all,               ///< RESET ALL
    authorization,           ///< SET SESSION AUTHORIZATION DEFAULT
    authorization_by_reset,  ///< RESET SESSION AUTHORIZATION
    role,                    ///< RESET ROLE
    deallocate_all,          ///< DEALLOCATE [PREPARE] ALL
    discard_all,             ///< DISCARD ALL
    discard_plans,           ///< DISCARD PLANS
    discard_sequences,       ///< DISCARD SEQUENCES
    discard_temp,            ///< DISCARD TEMP, DISCARD TEMPORARY
    unlock_all,              ///< SELECT pg_advisory_unlock_all()
};

/// PostgreSQL's command tag for it.
[[nodiscard]] std::string_view tag_of(Reset reset);

/// A text that is nothing but such statements, in any case of letters and with any blanks.
class ResetText {
public:
    /// More than any pool sends in one text.
    static constexpr std::size_t kStepsMax = 12;
    static constexpr std::size_t kTextMax = 512;

    /// Nothing: it is something else, or holds DISCARD ALL beside others, which PostgreSQL refuses.
    static std::optional<ResetText> read(std::string_view text);

    [[nodiscard]] std::span<const Reset> steps() const { return {steps_.data(), count_}; }

private:
    std::array<Reset, kStepsMax> steps_{};
    std::size_t count_ = 0;
};

}  // namespace pgb
