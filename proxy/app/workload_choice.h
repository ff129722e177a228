#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/app/config_in_force.h"

namespace pgb {

/// What a client said of itself at login, in one piece of memory: every idle session has it.
class LoginWords {
public:
    enum class Word : std::uint8_t {
        database,          ///< as the client asked for it
        user,              ///< the same
        application_name,  ///< of the startup packet
        told,              ///< the application_name as PostgreSQL reported it then
        chosen,            ///< `pgbulkhead.workload` of the startup packet
    };
    static constexpr std::size_t kCount = 5;

    LoginWords() = default;
    /// In the order of Word; none holds a NUL, since all came as strings that end in one.
    explicit LoginWords(const std::array<std::string_view, kCount>& words) {
        std::size_t size = 0;
        for (const std::string_view word : words) size += word.size() + 1;
        packed_ = std::make_unique<char[]>(size);
        char* at = packed_.get();
        for (const std::string_view word : words) {
            at = std::copy(word.begin(), word.end(), at);
            *at++ = '\0';
        }
    }

    /// Valid as long as this; empty before a login.
    [[nodiscard]] std::string_view operator[](Word word) const {
        const char* at = packed_.get();
        if (at == nullptr) return {};
        for (auto i = static_cast<std::size_t>(word); i > 0; --i) at += std::strlen(at) + 1;
        return at;
    }

private:
    std::unique_ptr<char[]> packed_;  // each word with a NUL behind it
};

/// What the workload of a session's transactions is chosen by, beside the text of each.
struct WorkloadChoice {
    /// What few sessions ever have.
    struct Later {
        std::string told;          ///< the application_name as it counts now
        std::string last_refused;  ///< a choice that was told to be of no effect
    };

    LoginWords words;
    std::uint32_t generation = 0;  ///< of the rules that the next three are of
    std::uint32_t at_login = 0;    ///< serves what no candidate does
    std::uint32_t usual = 0;       ///< without a text or a name to look at
    /// Pooled as the session is; nullptr: no transaction has a choice.
    std::unique_ptr<ConfigInForce::Candidates> candidates;
    std::unique_ptr<Later> later;

    /// The session was greeted.
    [[nodiscard]] bool is_known() const { return generation != 0; }
    [[nodiscard]] std::string_view told() const {
        return later != nullptr ? std::string_view(later->told) : words[LoginWords::Word::told];
    }
    [[nodiscard]] std::string_view last_refused() const {
        return later != nullptr ? std::string_view(later->last_refused) : std::string_view();
    }
    /// The part that can be changed.
    [[nodiscard]] Later& change() {
        if (later == nullptr) {
            later = std::make_unique<Later>(Later{std::string(words[LoginWords::Word::told]), {}});
        }
        return *later;
    }
};

}  // namespace pgb
