#include "proxy/admin/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "proxy/admin/accept.h"
#include "proxy/metrics/families.h"

namespace pgb {

namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

HttpAnswer plain(int status, std::string body) { return {status, kPlainText, std::move(body)}; }

HttpAnswer stuck(Duration age) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    return plain(503, fmt::format("the event loop has not turned for {} s\n", seconds));
}

HttpAnswer healthz(Duration age) { return age > kStuckAfter ? stuck(age) : plain(200, "ok\n"); }

// libpq tells of several hosts in several lines.
std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    return text;
}

// For people; a probe looks at the status alone. What is on fire and no reason to be left alone is told
// as well.
std::string circumstances(const Snapshot& snapshot) {
    std::string text;
    for (const DatabaseSnapshot& database : snapshot.databases) {
        if (!database.outage) continue;
        text +=
            fmt::format("database {} cannot be reached for {:.0f} s: {}\n", one_line(database.name),
                        database.outage->seconds, one_line(database.outage->message));
    }
    for (const WorkloadSnapshot& w : snapshot.workloads) {
        if (!w.overload_age) continue;
        text += fmt::format(
            "workload {} is overloaded: running {} of {}, waiting {} of {}, last refusal {:.0f} s "
            "ago\n",
            one_line(w.name), w.running, w.concurrency, w.waiting, w.queue, *w.overload_age);
    }
    return text;
}

HttpAnswer readyz(const Snapshot& snapshot, Duration age) {
    // What an old snapshot says of readiness may be true no longer.
    if (age > kStuckAfter) return stuck(age);
    const bool is_ready = snapshot.readiness == Readiness::ready;
    const std::string verdict =
        is_ready ? "ready\n" : fmt::format("not ready: {}\n", to_word(snapshot.readiness));
    return plain(is_ready ? 200 : 503, verdict + circumstances(snapshot));
}

HttpAnswer metrics(const Snapshot& snapshot, std::string_view accept) {
    const bool is_open = prefers_open_metrics(accept);
    return {200,
            is_open ? kOpenMetricsContentType : kPrometheusContentType,
            is_open ? render_open_metrics(snapshot) : render_prometheus(snapshot),
            {{"Vary", "Accept"}}};
}

}  // namespace

HttpAnswer answer_probe(std::string_view path, const Snapshot& snapshot, Duration age,
                        std::string_view accept) {
    if (path == "/healthz") return healthz(age);
    if (path == "/readyz") return readyz(snapshot, age);
    if (path == "/metrics") return metrics(snapshot, accept);
    return plain(404, "not found; there are /healthz, /readyz and /metrics\n");
}

}  // namespace pgb
