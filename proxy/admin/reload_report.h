#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/base/http_answer.h"

namespace pgb {

/// What came of an attempt to put the file in force.
struct ReloadReport {
    struct Mistake {
        std::string file;
        int line = 0;
        int column = 0;
        std::string code;  ///< `PGB-CFG-nnn`
        std::string text;
        bool is_error = true;  ///< else a warning
    };
    struct Change {
        std::string key;
        std::string before;
        std::string after;
        bool in_force = true;  ///< else it waits for a restart
    };
    enum class Outcome : std::uint8_t {
        done,
        refused,  ///< by what the file says; nothing has changed
        no_file,  ///< the program was started without one
    };

    Outcome outcome = Outcome::done;
    std::string message = {};  ///< why it was refused
    std::vector<Mistake> mistakes = {};
    std::vector<Change> changes = {};
};

/// As JSON: 200 when done, 422 when refused, 409 without a file.
[[nodiscard]] HttpAnswer answer_reload(const ReloadReport& report);

}  // namespace pgb
