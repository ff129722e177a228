#pragma once

#include <cstring>
#include <string>

namespace pgb {

/// Overwrites what a string of secrets holds, which is empty then. The compiler can't leave it out.
/// A string that has grown has left earlier copies behind: reserve first.
inline void wipe(std::string& secret) {
    explicit_bzero(secret.data(), secret.size());
    secret.clear();
}

}  // namespace pgb
