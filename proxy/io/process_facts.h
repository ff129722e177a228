#pragma once

#include <optional>

#include "proxy/base/process_figures.h"

namespace pgb {

/// Asks the kernel about this process. For threads that may wait: reading /proc takes some 50 us, and
/// more with many descriptors.
class ProcessFacts {
public:
    /// Notes when the process started, once: a clock that is set would move it.
    ProcessFacts();

    /// Safe on any thread. None: there is no /proc to be read.
    [[nodiscard]] std::optional<ProcessFigures> read() const;

private:
    std::optional<double> start_time_seconds_;
};

}  // namespace pgb
