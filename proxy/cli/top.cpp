#include "proxy/cli/top.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "proxy/cli/top_screen.h"
#include "proxy/io/http_get.h"

namespace pgb {

namespace {

constexpr int kIntervalMs = 1000;
constexpr const char* kStatePath = "/api/v1/state";
// Home, and what is left of the picture before goes line by line: nothing flickers.
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kRestOfLine = "\x1b[K\n";
constexpr std::string_view kRestOfScreen = "\x1b[J";

std::size_t number_of(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
}

Terminal look_at_terminal() {
    Terminal terminal;
    winsize size{};
    const bool is_terminal = isatty(STDOUT_FILENO) == 1;
    if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        terminal.width = size.ws_col;
        terminal.height = size.ws_row;
    }
    // As other programs that are told so; tests, too.
    if (const std::size_t columns = number_of("COLUMNS"); columns > 0) terminal.width = columns;
    const char* no_colour = std::getenv("NO_COLOR");
    terminal.colours = is_terminal && (no_colour == nullptr || *no_colour == '\0');
    return terminal;
}

void redraw(const std::string& picture, std::ostream& out) {
    out << kHome;
    for (std::size_t at = 0; at < picture.size();) {
        const std::size_t end = std::min(picture.find('\n', at), picture.size());
        out << std::string_view(picture).substr(at, end - at) << kRestOfLine;
        at = end + 1;
    }
    out << kRestOfScreen << std::flush;
}

Result<std::string> picture(const config::TopOptions& asked, std::string& before) {
    Result<std::string> state = http_get({asked.admin, asked.authorities}, kStatePath);
    if (!state) return state;
    const auto drawn = draw_top(state.value(), before, look_at_terminal());
    if (!drawn) return Error{asked.admin + " is not the admin.http address of a pgbulkhead"};
    before = std::move(state.value());
    return *drawn;
}

}  // namespace

int top(const config::Options& options, std::ostream& out, std::ostream& err) {
    std::string before;
    const bool once = options.top.once || isatty(STDOUT_FILENO) != 1;
    for (;;) {
        const Result<std::string> drawn = picture(options.top, before);
        if (once) {
            (drawn ? out : err) << (drawn ? drawn.value() : drawn.error().message + '\n');
            return drawn ? config::kExitOk : config::kExitFailed;
        }
        redraw(drawn ? drawn.value() : drawn.error().message + "; trying again\n", out);
        (void)poll(nullptr, 0, kIntervalMs);
    }
}

}  // namespace pgb
