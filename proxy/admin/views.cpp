#include "proxy/admin/views.h"

#include <fmt/format.h>

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

HttpAnswer readyz(const Snapshot& snapshot, Duration age) {
    // What an old snapshot says of readiness may be true no longer.
    if (age > kStuckAfter) return stuck(age);
    if (snapshot.readiness == Readiness::ready) return plain(200, "ready\n");
    return plain(503, fmt::format("not ready: {}\n", to_word(snapshot.readiness)));
}

}  // namespace

HttpAnswer answer_probe(std::string_view path, const Snapshot& snapshot, Duration age) {
    if (path == "/healthz") return healthz(age);
    if (path == "/readyz") return readyz(snapshot, age);
    if (path == "/metrics") return {200, kPrometheusContentType, render_prometheus(snapshot)};
    return plain(404, "not found; there are /healthz, /readyz and /metrics\n");
}

}  // namespace pgb
