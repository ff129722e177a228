#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/admin/live_change_report.h"
#include "proxy/base/http_answer.h"
#include "proxy/base/result.h"

namespace pgb {

/// `POST /api/v1/workloads/<name>`: {"concurrency": 8, "queue_wait": "250ms", "dry_run": true}.
struct WorkloadRequest {
    /// As the file would write them; which keys there are is not judged here.
    std::vector<std::pair<std::string, std::string>> values;
    bool dry_run = false;
};

/// The name in such a path, as it stands there; nothing: it is another path.
[[nodiscard]] std::optional<std::string> workload_in_path(std::string_view path);
/// An error says what is wrong with the body.
[[nodiscard]] Result<WorkloadRequest> read_workload_request(std::string_view body);
[[nodiscard]] HttpAnswer bad_workload_request(std::string_view why);
/// As JSON: 200 when done or planned, 404 for an unknown workload, 422 for what the file could not say.
[[nodiscard]] HttpAnswer answer_live_change(const LiveChangeReport& report);

}  // namespace pgb
