#pragma once

#include "config/findings.h"
#include "config/model.h"

namespace pgb::config {

/// Fills in what the file may leave to arithmetic: `max_pinned` is, where it is not given, the
/// smallest pool that the workload can use less one.
void complete(Config& config, const Findings& findings);

/// The rules across keys. A rule is silent about values that have an error of their own.
void validate(const Config& config, Findings& findings);

}  // namespace pgb::config
