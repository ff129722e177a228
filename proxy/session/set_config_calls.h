#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/session/setting_change.h"

namespace pgb {

/// A call of set_config() of which an argument may be a parameter.
struct SetConfigCall {
    struct Argument {
        std::uint16_t parameter = 0;  ///< its number; 0: a literal
        std::string literal = {};     ///< of `local`: on or off
    };
    Argument name;
    Argument value;
    Argument local;

    [[nodiscard]] bool has_parameters() const {
        return name.parameter != 0 || value.parameter != 0 || local.parameter != 0;
    }
};

/// What a prepared statement sets, all of it, once its parameters are known.
class SetConfigCalls {
public:
    SetConfigCalls() = default;
    explicit SetConfigCalls(std::vector<SetConfigCall> calls) : calls_(std::move(calls)) {}

    [[nodiscard]] bool empty() const { return calls_.empty(); }

    /// The parameters' types as their Parse declares them, four bytes each. A value of another type
    /// than text is not what it looks like, and is not read.
    void declare(std::string_view types);

    /// The changes that an execution makes, in order; `body` is that of a whole, well formed Bind.
    /// `utf8`: the client_encoding in force. Nothing: a value can't be read, or PostgreSQL would
    /// understand more of it than is understood here.
    [[nodiscard]] std::optional<std::vector<SettingChange>> bind(std::string_view body,
                                                                 bool utf8) const;

private:
    std::vector<SetConfigCall> calls_;
    bool readable_ = true;
};

}  // namespace pgb
