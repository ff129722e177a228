#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// Values of parameters as ParameterStatus reports them: those in force on a backend, or those that
/// a frontend was told. Bounded: a server reports some fifteen names; more than kBytesMax of them
/// are not kept. Copies share their memory, so that comparing the values of a session with those of the
/// next backend, as is done for each transaction, costs nothing as long as they are the same.
class ReportedValues {
public:
    static constexpr std::size_t kBytesMax = 16384;

    /// True when the value is new; also when it can't be kept.
    bool set(std::string_view name, std::string_view value);
    [[nodiscard]] std::optional<std::string_view> value(std::string_view name) const;
    [[nodiscard]] bool empty() const { return packed().empty(); }
    /// Whether they are the same values in the same order; the order is that of the greeting, so that
    /// what differs by nothing else is rare. Then both share their memory from here on.
    bool joins(const ReportedValues& other) {
        if (packed_ == other.packed_) return true;
        if (packed() != other.packed()) return false;
        packed_ = other.packed_;
        return true;
    }

    /// Calls `visit(name, value)` for each.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::string_view rest = packed(); !rest.empty();) {
            const Entry entry = front(rest);
            visit(entry.name, entry.value);
            rest.remove_prefix(entry.size);
        }
    }

private:
    struct Entry {
        std::string_view name;
        std::string_view value;
        std::size_t size = 0;  // with both NULs
    };
    static Entry front(std::string_view rest);
    [[nodiscard]] std::string_view packed() const {
        return packed_ ? std::string_view(*packed_) : std::string_view();
    }
    // The memory to change: its own.
    std::string& own();

    std::shared_ptr<std::string> packed_;  // name NUL value NUL
};

}  // namespace pgb
