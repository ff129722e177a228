#pragma once

#include <ostream>

#include "config/options.h"

namespace pgb {

/// `pgbulkhead top`: what the live page tells, on `out`, from a running proxy. On a terminal it is drawn
/// anew each second until Ctrl-C; otherwise, and with `--once`, it is told once: exit code 0, or 1 with
/// the reason on `err` when there is no such proxy.
int top(const config::Options& options, std::ostream& out, std::ostream& err);

}  // namespace pgb
