#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/live_change.h"
#include "proxy/admin/live_change_report.h"

namespace pgb {

class Server;

/// Who changes something, for the log.
struct Operator {
    std::string_view way;   ///< `console` or `http`
    std::string_view name;  ///< of a console user; empty: a token has no name
};

/// Whether a change is made or only judged.
enum class Trial : std::uint8_t { no, dry_run };

/// Changes of workloads past the file: budget, queue, wait and mode, by the rules of the file and on
/// the way of a reload, so that they are in force at once and for everybody. They last until the file
/// is loaded the next time, even if it has not changed: then what it says is in force again. A load
/// that fails leaves them.
///
/// On the loop's thread only.
class LiveChanges {
public:
    explicit LiveChanges(Server& server) : server_(server) {}

    LiveChangeReport change(const config::LiveChange& wanted, Trial trial, const Operator& who);

    /// What is in force otherwise than the file says: path -> the value of the file, both in the
    /// words of a reload.
    [[nodiscard]] const std::map<std::string, std::string>& past_the_file() const {
        return file_values_;
    }
    /// The file is in force again.
    void forget();

private:
    void note(const std::vector<config::Change>& changes);

    Server& server_;
    std::map<std::string, std::string> file_values_;
};

}  // namespace pgb
