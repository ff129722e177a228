#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace pgb {

/// Which Parses PostgreSQL has lately accepted, so that a Parse of the same may be answered before
/// a backend is had: it is sent ahead of the first message that needs it. Kept as digests: two that
/// collide cost no more than an error that comes with that message instead of with the Parse.
///
///   K1  what is known was accepted by the server for this database, user, startup parameters and
///       settings, and no text that may change the catalogs was seen since.
///   K2  never more than 2 * kGenerationMax; what was not confirmed again for long goes first.
class KnownParses {
public:
    using Digest = std::uint64_t;
    static constexpr std::size_t kGenerationMax = 2048;

    /// `origin`: of the database, the user and the startup parameters; `types` as declared.
    [[nodiscard]] static Digest digest(std::uint64_t origin, std::uint64_t settings,
                                       std::string_view text, std::string_view types);

    [[nodiscard]] bool has(Digest parse) const { return parameter_count(parse).has_value(); }
    /// How many parameters the statement has; none: it is not known.
    [[nodiscard]] std::optional<std::size_t> parameter_count(Digest parse) const;
    void add(Digest parse, std::size_t parameter_count);
    void forget(Digest parse);
    void forget_all();

private:
    std::unordered_map<Digest, std::size_t> young_;
    std::unordered_map<Digest, std::size_t> old_;
};

}  // namespace pgb
