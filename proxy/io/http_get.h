#pragma once

#include <string>

#include "proxy/base/result.h"

namespace pgb {

/// The body of `GET url path`, where `url` is `http://host:port` or `https://host:port`; waits a few
/// seconds at most. An error when nobody answers, or with another status than 200. `authorities`: a PEM
/// file, for a certificate that this system does not know; empty: those of the system.
[[nodiscard]] Result<std::string> http_get(const std::string& url, const std::string& path,
                                           const std::string& authorities);

}  // namespace pgb
