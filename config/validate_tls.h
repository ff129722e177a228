#pragma once

#include "config/findings.h"
#include "config/model.h"

namespace pgb::config {

/// The rules across the keys of TLS, of the doors and of the HTTP addresses. What is in the files is
/// not looked at here.
void validate_tls(const Config& config, Findings& findings);

}  // namespace pgb::config
