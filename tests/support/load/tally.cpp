#include "tests/support/load/tally.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/load/clock.h"

namespace pgb::load {
namespace {

// Microseconds are as fine as the tool is.
double rounded_ms(Duration span) { return std::round(to_ms(span) * 1000.0) / 1000.0; }

nlohmann::json to_json(const Histogram& histogram) {
    return {{"count", histogram.count()},
            {"mean_ms", rounded_ms(histogram.mean())},
            {"p50_ms", rounded_ms(histogram.quantile(0.50))},
            {"p90_ms", rounded_ms(histogram.quantile(0.90))},
            {"p99_ms", rounded_ms(histogram.quantile(0.99))},
            {"max_ms", rounded_ms(histogram.max())}};
}

}  // namespace

nlohmann::json to_json(const Tally& tally, Duration elapsed) {
    const double seconds = to_seconds(elapsed);
    const auto rate = [seconds](std::uint64_t count) {
        return seconds <= 0 ? 0.0 : std::round(static_cast<double>(count) / seconds * 10.0) / 10.0;
    };
    return {{"seconds", std::round(seconds * 1000.0) / 1000.0},
            {"ok", tally.ok},
            {"useful_per_s", rate(tally.ok)},
            {"refused", tally.refused},
            {"refused_per_s", rate(tally.refused)},
            {"refused_by", tally.refused_by},
            {"errors", tally.errors},
            {"errors_by", tally.errors_by},
            {"gave_up", tally.gave_up},
            {"missed", tally.missed},
            {"connections_lost", tally.connections_lost},
            {"logins", tally.logins},
            {"logins_refused", tally.logins_refused},
            {"logins_refused_per_s", rate(tally.logins_refused)},
            {"logins_refused_by", tally.logins_refused_by},
            {"ok_latency", to_json(tally.ok_latency)},
            {"ok_with_retries", to_json(tally.ok_with_retries)},
            {"refused_latency", to_json(tally.refused_latency)},
            {"login_refused_latency", to_json(tally.login_refused_latency)},
            {"clients",
             {{"never_served", tally.clients_never_served},
              {"ok_min", tally.client_ok_min},
              {"ok_max", tally.client_ok_max}}}};
}

}  // namespace pgb::load
