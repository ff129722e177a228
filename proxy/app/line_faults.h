#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/log.h"
#include "proxy/session/quoted_pairs.h"

namespace pgb {

/// Tells the log what is wrong with a file, line by line.
inline void log_line_faults(Log& log, std::string_view event, const std::string& file,
                            const std::vector<LineFault>& faults) {
    for (const LineFault& fault : faults) {
        log.error(event, {{"file", file},
                          {"line", std::int64_t{fault.line}},
                          {"column", std::int64_t{fault.column}},
                          {"message", fault.text},
                          {"note", "the file changes nothing"}});
    }
}

}  // namespace pgb
