#pragma once

#include <cstddef>

#include "config/findings.h"
#include "config/model.h"

namespace pgb::config {

/// Whether the method by which a door's clients say who they are fits the door, and has what it
/// needs. The listener is `listen[index]` and has one door.
void validate_authentication(const Listener& listener, std::size_t index, Findings& findings);

}  // namespace pgb::config
