// Whatever a client of the console sends, however it is cut: the session takes no more than it was
// given, says whole messages, and answers each Query and each Sync by one ReadyForQuery.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/admin/console/session.h"
#include "proxy/admin/console/views.h"
#include "tests/fuzz/require.h"

namespace {

using pgb::fuzz::require;

std::string nothing(std::string_view, std::span<const std::string_view>) { return {}; }

struct Run {
    std::string said;
    std::string asked;
};

pgb::ConsoleReply reply_to(const pgb::ConsoleCommand& command) {
    if (command.client % 2 == 1) return pgb::refuse_command("42704", "no");
    pgb::ConsoleReply reply;
    for (int i = 0; i < 3 && !command.columns.empty(); ++i) {
        reply.rows.emplace_back(command.columns.size());
    }
    return reply;
}

/// Feeds the input in pieces of `step` bytes.
Run feed(std::string_view input, std::size_t step) {
    Run run;
    pgb::ConsoleSession session(nothing);
    std::size_t end = 0;
    std::size_t at = 0;
    while (!session.is_closed()) {
        if (const pgb::ConsoleCommand* command = session.wanted()) {
            run.asked += command->tag + ' ' + command->name + '\n';
            session.answer(reply_to(*command), run.said);
            continue;
        }
        const std::size_t taken = session.on_bytes(input.substr(at, end - at), run.said);
        require(taken <= end - at);
        at += taken;
        if (taken > 0) continue;
        if (end == input.size()) break;
        end = std::min(end + step, input.size());
    }
    return run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const Run whole = feed(input, std::max<std::size_t>(size, 1));
    const Run cut = feed(input, 7);
    require(whole.said == cut.said);
    require(whole.asked == cut.asked);
    // The same bytes as a text.
    (void)pgb::parse_console(input, nothing);
    return 0;
}
