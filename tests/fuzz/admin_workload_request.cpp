#include <algorithm>
#include <cstdint>
#include <string>

#include "proxy/admin/workload_request.h"
#include "tests/fuzz/require.h"

// What a body of a change becomes is what a file could have: no key twice, no number that is not one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto name = workload_in_path(text)) {
        require(!name->empty() && name->find('/') == std::string::npos);
    }
    const Result<WorkloadRequest> request = read_workload_request(text);
    if (!request) {
        require(!request.error().message.empty());
        return 0;
    }
    const auto& values = request.value().values;
    for (const auto& one : values) {
        require(one.first != "dry_run");
        require(std::count_if(values.begin(), values.end(),
                              [&](const auto& other) { return other.first == one.first; }) == 1);
    }
    return 0;
}
