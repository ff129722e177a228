#pragma once

#include <string_view>

namespace pgb::config {

/// The budgets file that serves when none is named, and the source of `listen` and `databases` where
/// a file leaves them out. An empty conninfo is libpq's own idea of where PostgreSQL is: PGHOST,
/// PGPORT and the other PG* variables, .pgpass, services.
inline constexpr std::string_view kEmbeddedBudgets = R"(
listen:
  - name: app
    address: 127.0.0.1
    port: 6432
  - name: local
    unix_socket_dir: /tmp
    port: 6432
databases:
  "*":
    conninfo: ""
    pool_size: 24
workloads:
  - name: default
    concurrency: 16
    queue: 32
    queue_wait: 250ms
)";

}  // namespace pgb::config
