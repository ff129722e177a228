#include "proxy/io/process_facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

#include "proxy/io/clock.h"

namespace pgb {

namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr double kNanosecondsPerSecond = 1e9;
// proc(5): the 22nd field of stat, counted behind the name, which may contain anything.
constexpr int kFieldsToStart = 19;

/// Since the machine started, in seconds.
std::optional<double> started_after_boot() {
    std::ifstream file("/proc/self/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int i = 0; i < kFieldsToStart; ++i) fields >> skipped;
    std::uint64_t ticks = 0;
    if (!(fields >> ticks)) return std::nullopt;
    return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / kMicrosecondsPerSecond;
}

/// The one that is open for looking is not counted.
std::optional<std::uint64_t> count_descriptors() {
    std::error_code error;
    std::uint64_t count = 0;
    for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; at != end && !error;
         at.increment(error)) {
        ++count;
    }
    if (error || count == 0) return std::nullopt;
    return count - 1;
}

bool read_memory(ProcessFigures& figures) {
    std::ifstream file("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    if (!(file >> all >> resident)) return false;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    figures.virtual_bytes = all * page;
    figures.resident_bytes = resident * page;
    return true;
}

}  // namespace

// Not /proc/stat's btime: a sandbox may show a process itself and nothing else.
ProcessFacts::ProcessFacts() {
    const std::optional<double> started = started_after_boot();
    timespec up{};
    if (!started || clock_gettime(CLOCK_BOOTTIME, &up) != 0) return;
    const double now_after_boot =
        static_cast<double>(up.tv_sec) + static_cast<double>(up.tv_nsec) / kNanosecondsPerSecond;
    start_time_seconds_ = unix_seconds() - (now_after_boot - *started);
}

std::optional<ProcessFigures> ProcessFacts::read() const {
    ProcessFigures figures;
    rusage used{};
    rlimit files{};
    const std::optional<std::uint64_t> open = count_descriptors();
    const bool known = start_time_seconds_ && open && read_memory(figures) &&
                       getrusage(RUSAGE_SELF, &used) == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0;
    if (!known) return std::nullopt;
    figures.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
    figures.open_fds = *open;
    figures.max_fds = files.rlim_cur == RLIM_INFINITY ? std::numeric_limits<double>::infinity()
                                                      : static_cast<double>(files.rlim_cur);
    figures.start_time_seconds = *start_time_seconds_;
    return figures;
}

}  // namespace pgb
