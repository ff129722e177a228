#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/model.h"

/// The tables of keys: the one description of the file that reading, printing and documentation
/// share. A new key is a member in model.h and a row in keys_*.cpp.
namespace pgb::config {

/// An enum of the model with the words of the file, in the order of the enumerators. All these
/// enums are one byte wide, and a byte may be looked at through `unsigned char`.
struct WordSlot {
    unsigned char* value = nullptr;
    std::span<const std::string_view> words;
};

using TagList = std::vector<std::pair<std::string, std::string>>;

/// Where a value lives in a struct of the model. The alternative is the type of the key.
using Slot =
    std::variant<std::string*, std::optional<std::string>*, std::uint64_t*,
                 std::optional<std::uint64_t>*, std::uint16_t*, std::uint32_t*, bool*, Duration*,
                 WordSlot, std::optional<Address>*, std::vector<std::string>*, TagList*>;

/// What a text or number means beyond its type.
enum class Form : std::uint8_t {
    plain,        // text as it is; true or false; a word; an address
    name,         // kNameMax of [A-Za-z0-9_.-]
    glob,         // see classify.h
    network,      // address/bits
    pattern,      // see pattern.h
    sqlstate,     // five of [0-9A-Z]
    tls_version,  // 1.2 or 1.3
    conninfo,     // may hold a password: never repeated in a complaint
    octal,        // permission bits
    count,
    size,      // bytes, written with B, KiB, MiB, GiB
    duration,  // written with us, ms, s, m, h; 0 needs no unit
};

enum class Presence : std::uint8_t { optional, required };

/// A feature that is not built yet accepts only the default of its keys: whoever writes another
/// value would believe in a protection that is not there.
enum class Built : std::uint8_t { yes, no };

/// What a change of the key in the file of a running program does. `live`: it counts from the reload
/// on. `restart`: what is in force stays, and the reload says so.
enum class Reload : std::uint8_t { restart, live };

struct Range {
    std::uint64_t low = 0;
    std::uint64_t high = std::numeric_limits<std::uint64_t>::max();  // in units of the Form
};

struct Key {
    std::string_view name;        // within its section, nested keys with dots: match.user
    Slot (*slot)(void* section);  // `section` is the struct that the section fills
    Form form = Form::plain;
    Range range;
    Presence presence = Presence::optional;
    Built built = Built::yes;
    std::string_view meaning;  // one or two sentences, for a person
    Reload reload = Reload::restart;
    std::string_view default_words = {};  // when the struct's initialiser does not say it
};

/// The keys of one struct. `path` is how the documentation calls it: "" is the top level. Rows that
/// share a parent stand together, those of the deeper one last, as print() opens each parent once.
struct Section {
    std::string_view path;
    std::span<const Key> keys;
};

[[nodiscard]] Section listener_section();  // Listener
[[nodiscard]] Section database_section();  // DatabaseEntry, without its name
[[nodiscard]] Section workload_section();  // Workload
[[nodiscard]] Section top_section();       // Config, without its three lists

/// `listen.port`, `databases.pool_size`, `workloads.match.user`, `drain.timeout`.
[[nodiscard]] std::string full_name(const Section& section, const Key& key);

inline constexpr std::size_t kNameMax = 63;  // as long as PostgreSQL's own names

// --- how a row says where its value lives: slot_of<Workload, &Workload::match, &Match::user> ------

inline std::span<const std::string_view> words_of(TlsMode) { return kTlsModeWords; }
inline std::span<const std::string_view> words_of(AuthMethod) { return kAuthMethodWords; }
inline std::span<const std::string_view> words_of(Mode) { return kModeWords; }
inline std::span<const std::string_view> words_of(Pooling) { return kPoolingWords; }
inline std::span<const std::string_view> words_of(Reset) { return kResetWords; }
inline std::span<const std::string_view> words_of(LogLevel) { return kLogLevelWords; }
inline std::span<const std::string_view> words_of(LogFormat) { return kLogFormatWords; }
inline std::span<const std::string_view> words_of(OnExcess) { return kOnExcessWords; }

template <typename Root, auto... Members>
Slot slot_of(void* section) {
    auto& field = (*static_cast<Root*>(section).*....*Members);
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_enum_v<Field>) {
        static_assert(sizeof(Field) == 1);
        return WordSlot{reinterpret_cast<unsigned char*>(&field), words_of(field)};
    } else {
        return &field;
    }
}

}  // namespace pgb::config
