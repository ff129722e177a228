#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/bench/allocation_count.h"
#include "tests/bench/gate_operations.h"

// Runs one operation of the gate N times, for callgrind: the difference between two counts N is
// free of everything but the operation. Prints how many bytes were allocated while it ran.
//   gate_callgrind OPERATION N

namespace pgb::bench {
namespace {

template <void (Bench::*Prepare)(), void (Bench::*Run)()>
std::size_t bytes_of(long count) {
    Bench bench;
    (bench.*Prepare)();
    const std::size_t before = test::allocated_bytes;
    for (long i = 0; i < count; ++i) (bench.*Run)();
    return test::allocated_bytes - before;
}

struct Named {
    const char* name;
    std::size_t (*bytes)(long count);
};

constexpr Named kOperations[] = {
    {"nothing", bytes_of<&Bench::prepare_free, &Bench::nothing>},
    {"admit_and_release", bytes_of<&Bench::prepare_free, &Bench::admit_and_release>},
    {"reject", bytes_of<&Bench::prepare_full, &Bench::reject>},
    {"hand_off_one", bytes_of<&Bench::prepare_queue, &Bench::hand_off_one>},
    {"hand_off_batch", bytes_of<&Bench::prepare_queue, &Bench::hand_off_batch>},
    {"dispatch_16_idle", bytes_of<&Bench::prepare_idle_lanes, &Bench::dispatch_idle>},
};

int run(const char* name, long count) {
    for (const Named& operation : kOperations) {
        if (std::strcmp(operation.name, name) != 0) continue;
        std::printf("%zu\n", operation.bytes(count));
        return 0;
    }
    std::fprintf(stderr, "no such operation: %s\n", name);
    return 2;
}

}  // namespace
}  // namespace pgb::bench

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: gate_callgrind OPERATION N\n");
        return 2;
    }
    return pgb::bench::run(argv[1], std::strtol(argv[2], nullptr, 10));
}
