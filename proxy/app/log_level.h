#pragma once

#include "config/model.h"
#include "proxy/base/log.h"

namespace pgb {

[[nodiscard]] constexpr LogLevel level_of(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::debug: return LogLevel::debug;
        case config::LogLevel::info: return LogLevel::info;
        case config::LogLevel::warn: return LogLevel::warn;
        case config::LogLevel::error: return LogLevel::error;
    }
    return LogLevel::info;
}

}  // namespace pgb
