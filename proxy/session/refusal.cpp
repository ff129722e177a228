#include "proxy/session/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "protocol/error_response.h"
#include "protocol/sqlstate.h"

namespace pgb {

namespace {
std::int64_t milliseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}
}  // namespace

void append_refusal(std::string& out, const ShedFacts& facts) {
    const std::string_view reason = to_word(facts.reason);
    const std::int64_t retry_ms = std::max<std::int64_t>(1, milliseconds(facts.retry_after));
    // Fixed buffers: refusing must stay cheap, it is what happens when there is too much of all.
    fmt::memory_buffer message;
    fmt::memory_buffer detail;
    fmt::memory_buffer hint;
    if (facts.reason == ShedReason::pin_limit) {
        fmt::format_to(
            std::back_inserter(message),
            "too many sessions of workload \"{}\" keep a backend of their own (pin_limit)",
            facts.workload);
    } else {
        fmt::format_to(std::back_inserter(message),
                       "admission rejected for workload \"{}\" ({}); retry after {} ms",
                       facts.workload, reason, retry_ms);
    }
    fmt::format_to(std::back_inserter(detail),
                   "running={} limit={} waiting={} queue={} waited_ms={}", facts.running,
                   facts.limit, facts.waiting, facts.queue, milliseconds(facts.waited));
    if (!facts.cause.empty()) fmt::format_to(std::back_inserter(detail), " cause={}", facts.cause);
    fmt::format_to(std::back_inserter(hint), "retry_after_ms={} reason={} workload={}", retry_ms,
                   reason, facts.workload);
    append_error(
        out, {.sqlstate = facts.reason == ShedReason::pin_limit ? sqlstate::kProgramLimitExceeded
                                                                : facts.sqlstate,
              .message = {message.data(), message.size()},
              .detail = {detail.data(), detail.size()},
              .hint = {hint.data(), hint.size()},
              .routine = "admission_reject"});
}

void append_backend_unavailable(std::string& out, std::string_view sqlstate,
                                std::string_view message) {
    append_error(out, {.sqlstate = sqlstate, .message = message, .routine = "backend_connect"});
}

}  // namespace pgb
