#pragma once

#include <optional>
#include <string_view>

#include "protocol/request.h"

namespace pgb {

/// The types of a statement's parameters if its text alone tells that it has no rows, and its Parse
/// declares them all; else nothing. PostgreSQL has accepted the Parse.
[[nodiscard]] std::optional<std::string_view> types_if_rowless(const ParseRequest& parse);

}  // namespace pgb
