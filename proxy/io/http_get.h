#pragma once

#include <string>

#include "proxy/base/result.h"

namespace pgb {

/// Whom to ask, and what is believed of it.
struct HttpTarget {
    std::string url;  // `http://host:port` or `https://host:port`
    std::string
        authorities;  // a PEM file, for a certificate that this system does not know; empty: those of the system
    bool is_proved = true;  // false: whatever certificate it shows, it is asked
};

/// The body of `GET path`; waits a few seconds at most. An error when nobody answers, or with another
/// status than 200: it then has the beginning of the body.
[[nodiscard]] Result<std::string> http_get(const HttpTarget& target, const std::string& path);

}  // namespace pgb
