#pragma once

#include <cstdint>

namespace pgb {

/// What the system says of this process, under the names that all of Prometheus' clients use.
struct ProcessFigures {
    double cpu_seconds = 0;  ///< user and system time of all threads
    std::uint64_t resident_bytes = 0;
    std::uint64_t virtual_bytes = 0;
    std::uint64_t open_fds = 0;
    double max_fds = 0;             ///< infinite: there is no limit
    double start_time_seconds = 0;  ///< Unix time; does not change
};

}  // namespace pgb
