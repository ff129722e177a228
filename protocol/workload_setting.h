#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// The setting by which a session chooses its workload. PostgreSQL keeps any setting with a dot in
/// its name, so it has this one like any other: SHOW tells it, and it follows its transaction.
inline constexpr std::string_view kWorkloadSetting = "pgbulkhead.workload";

/// The value that a text gives to this setting by its first statement:
///     SET [LOCAL | SESSION] pgbulkhead.workload { TO | = } 'reports'
///     SELECT [pg_catalog.] set_config('pgbulkhead.workload', 'reports', …
/// Nothing for any other text, for DEFAULT, and for a literal with a backslash. Most texts are told
/// apart by their first word.
[[nodiscard]] std::optional<std::string> read_workload_setting(std::string_view text);

}  // namespace pgb
