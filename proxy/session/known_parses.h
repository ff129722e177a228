#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pgb {

/// What PostgreSQL said of a statement when it accepted its Parse. Its parameters are those of the
/// statement as long as it lives, whatever becomes of the catalogs.
struct AcceptedParse {
    std::string types{};  ///< of its parameters, as a ParameterDescription has them: 4 bytes each
    bool returns_rows = false;

    [[nodiscard]] std::size_t parameter_count() const {
        return types.size() / sizeof(std::uint32_t);
    }
    bool operator==(const AcceptedParse&) const = default;
};

/// Which Parses PostgreSQL has lately accepted, so that a Parse of the same may be answered before
/// a backend is had: it is sent ahead of the first message that needs it. Kept as digests: two that
/// collide cost no more than an error that comes with that message instead of with the Parse.
///
///   K1  what is known was accepted by the server for this database, user, startup parameters and
///       settings, and no text that may change the catalogs was seen since.
///   K2  never more than 2 * kGenerationMax, nor types of more than 2 * kGenerationBytesMax and of
///       one Parse; what was not confirmed again for long goes first. A Parse has no more bytes of
///       types than its text has names of them, so a statement that shares them costs its like.
class KnownParses {
public:
    using Digest = std::uint64_t;
    static constexpr std::size_t kGenerationMax = 2048;
    static constexpr std::size_t kGenerationBytesMax = std::size_t{256} << 10;

    /// `origin`: of the database, the user and the startup parameters; `types` as declared.
    [[nodiscard]] static Digest digest(std::uint64_t origin, std::uint64_t settings,
                                       std::string_view text, std::string_view types);

    [[nodiscard]] bool has(Digest parse) const { return find(parse) != nullptr; }
    /// nullptr: it is not known.
    [[nodiscard]] std::shared_ptr<const AcceptedParse> find(Digest parse) const;
    void add(Digest parse, const AcceptedParse& accepted);
    void forget(Digest parse);
    void forget_all();

private:
    // Shared with the statements that were taken for it.
    using Generation = std::unordered_map<Digest, std::shared_ptr<const AcceptedParse>>;

    Generation young_;
    Generation old_;
    std::size_t young_bytes_ = 0;  // of types; a Parse that was added again counts again
};

}  // namespace pgb
