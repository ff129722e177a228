#include "proxy/io/limits.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "proxy/base/check.h"

namespace pgb {

std::uint64_t raise_open_files() {
    rlimit limit{};
    PGB_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_cur < limit.rlim_max) {
        const rlimit raised{limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur;
}

void forbid_dumps() { PGB_CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0); }

}  // namespace pgb
