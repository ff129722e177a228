#include <benchmark/benchmark.h>

#include "tests/bench/gate_operations.h"

namespace pgb::bench {
namespace {

template <void (Bench::*Prepare)(), void (Bench::*Run)()>
void measure(benchmark::State& state) {
    Bench bench;
    (bench.*Prepare)();
    for (auto _ : state) (bench.*Run)();
}

BENCHMARK(measure<&Bench::prepare_free, &Bench::nothing>)->Name("nothing");
BENCHMARK(measure<&Bench::prepare_free, &Bench::admit_and_release>)->Name("admit_and_release");
BENCHMARK(measure<&Bench::prepare_full, &Bench::reject>)->Name("reject");
BENCHMARK(measure<&Bench::prepare_queue, &Bench::hand_off_one>)->Name("hand_off_one");
BENCHMARK(measure<&Bench::prepare_queue, &Bench::hand_off_batch>)->Name("hand_off_batch");
BENCHMARK(measure<&Bench::prepare_idle_lanes, &Bench::dispatch_idle>)->Name("dispatch_16_idle");

}  // namespace
}  // namespace pgb::bench
