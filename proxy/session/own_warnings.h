#pragma once

#include "proxy/session/settings_book.h"
#include "proxy/session/virtual_block.h"

namespace pgb {

/// Whether a session is told warnings, by its `client_min_messages`. Frameworks raise it around what
/// they know to warn. A value that came by another way than SET (a role's, the startup packet's) is
/// not known here, and the session is told.
[[nodiscard]] VirtualBlock::Warnings warnings_for(const SettingsBook& settings);

}  // namespace pgb
