#include "proxy/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pgb {

void check_failed(std::string_view condition, std::string_view file, int line) {
    std::fprintf(stderr, "pgbulkhead: check failed: %.*s at %.*s:%d\n",
                 static_cast<int>(condition.size()), condition.data(),
                 static_cast<int>(file.size()), file.data(), line);
    std::abort();
}

}  // namespace pgb
