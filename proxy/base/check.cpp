#include "proxy/base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace pgb {

namespace {
// The one global of the program: abort handlers have no other way to find the state.
std::atomic<StateDump> state_dump{nullptr};
}  // namespace

void set_state_dump(StateDump dump) { state_dump = dump; }

void check_failed(std::string_view condition, std::string_view file, int line) {
    std::fprintf(stderr, "pgbulkhead: check failed: %.*s at %.*s:%d\n",
                 static_cast<int>(condition.size()), condition.data(),
                 static_cast<int>(file.size()), file.data(), line);
    if (const StateDump dump = state_dump.exchange(nullptr)) dump();
    std::abort();
}

}  // namespace pgb
