#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "config/findings.h"
#include "config/keys.h"
#include "config/model.h"

namespace pgb::config {

/// What is wrong with a text of this form, or nothing. Every text is bounded and free of control
/// characters; the forms ask for more.
[[nodiscard]] std::optional<Problem> judge_text(Form form, std::string_view text);

/// `127.0.0.1:9432`, `[::1]:9432`, `name:9432`.
[[nodiscard]] std::variant<Address, Problem> parse_address(std::string_view text);

/// An address or name that no other machine can reach: 127.0.0.0/8, ::1, localhost. Any other name
/// is taken for a foreign one, as what it resolves to may change.
[[nodiscard]] bool is_loopback(std::string_view host);

}  // namespace pgb::config
