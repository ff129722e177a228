#pragma once

#include <cstdint>

namespace pgb {

/// Raises the limit of open descriptors to what the system allows this process, and returns what
/// holds now.
std::uint64_t raise_open_files();

/// No core dump of this process, and no other of the same user may look into its memory or attach a
/// debugger: there are passwords in it. The files in /proc/PID then belong to root.
void forbid_dumps();

}  // namespace pgb
