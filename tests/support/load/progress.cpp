#include "tests/support/load/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "tests/support/load/clock.h"

namespace pgb::load {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);
constexpr std::size_t kTicksPerSecond = 10;
constexpr std::size_t kTicksPerLine = 20;
constexpr std::size_t kTicksPerSpark = 5;
constexpr std::size_t kBarCells = 36;
constexpr std::size_t kSparkCells = 30;

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string bar(double part) {
    const auto full =
        static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(kBarCells));
    std::string cells;
    for (std::size_t i = 0; i < kBarCells; ++i) cells += i < full ? "█" : "░";
    return cells;
}

std::string latencies(const Histogram& histogram) {
    if (histogram.count() == 0) return "";
    return fmt::format("p50 {:9.2f} ms   p99 {:9.2f} ms", to_ms(histogram.quantile(0.5)),
                       to_ms(histogram.quantile(0.99)));
}

}  // namespace

Progress::Progress(Loop& loop, const Tally& tally, const Sampler* sampler, std::string label,
                   Duration whole)
    : tally_(tally),
      sampler_(sampler),
      label_(std::move(label)),
      whole_(whole),
      timer_(loop, [this] { tick(); }),
      on_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::start(Instant now) {
    started_ = now;
    last_second_.push_back(counts());
    timer_.arm_after(kTick);
}

void Progress::finish() {
    timer_.disarm();
    if (on_terminal_) draw_panel(read_clock());
}

void Progress::tick() {
    ++tick_count_;
    last_second_.push_back(counts());
    if (last_second_.size() > kTicksPerSecond + 1) last_second_.pop_front();
    if (tick_count_ % kTicksPerSpark == 0) {
        const std::size_t back = std::min(last_second_.size() - 1, kTicksPerSpark);
        const std::size_t from = last_second_.size() - 1 - back;
        useful_history_.push_back(last_second_.back().ok - last_second_[from].ok);
    }
    const Instant now = read_clock();
    if (on_terminal_) {
        draw_panel(now);
    } else if (tick_count_ % kTicksPerLine == 0) {
        print_line(now);
    }
    timer_.arm_at(started_ + kTick * static_cast<std::int64_t>(tick_count_ + 1));
}

Progress::Counts Progress::counts() const {
    return {tally_.ok, tally_.refused + tally_.logins_refused, tally_.errors};
}

Progress::Counts Progress::rates() const {
    const Counts& last = last_second_.back();
    const Counts& first = last_second_.front();
    const std::uint64_t ticks = std::max<std::uint64_t>(last_second_.size() - 1, 1);
    const auto rate = [ticks](std::uint64_t newer, std::uint64_t older) {
        return (newer - older) * kTicksPerSecond / ticks;
    };
    return {rate(last.ok, first.ok), rate(last.refused, first.refused),
            rate(last.errors, first.errors)};
}

std::string Progress::sparkline() const {
    static constexpr std::array<std::string_view, 8> kHeights = {"▁", "▂", "▃", "▄",
                                                                 "▅", "▆", "▇", "█"};
    if (useful_history_.empty()) return "";
    const std::uint64_t top = std::max<std::uint64_t>(
        1, *std::max_element(useful_history_.begin(), useful_history_.end()));
    std::string cells;
    const std::size_t skip = useful_history_.size() - std::min(useful_history_.size(), kSparkCells);
    for (std::size_t i = skip; i < useful_history_.size(); ++i) {
        cells += kHeights[useful_history_[i] * (kHeights.size() - 1) / top];
    }
    return cells;
}

void Progress::draw_panel(Instant now) {
    const double seconds = std::min(to_seconds(now - started_), to_seconds(whole_));
    const Counts rate = rates();
    std::vector<std::string> lines;
    lines.push_back(fmt::format("  {}{}{}", kBold, label_, kPlain));
    lines.push_back(fmt::format("  {}{}{} {:4.1f} of {:.0f} s", kDim,
                                bar(seconds / to_seconds(whole_)), kPlain, seconds,
                                to_seconds(whole_)));
    lines.push_back(fmt::format("  {}useful   {:8}/s{}  {}  {}", kGreen, rate.ok, kPlain,
                                latencies(tally_.ok_latency), sparkline()));
    const bool refused_at_login = tally_.refused == 0 && tally_.logins_refused > 0;
    lines.push_back(fmt::format(
        "  {}refused  {:8}/s{}  {}{}", kYellow, rate.refused, kPlain,
        latencies(refused_at_login ? tally_.login_refused_latency : tally_.refused_latency),
        refused_at_login ? "   at connect" : ""));
    lines.push_back(fmt::format("  {}failed   {:8}/s{}  connections lost {}", kRed, rate.errors,
                                kPlain, tally_.connections_lost));
    if (sampler_ != nullptr) {
        lines.push_back(
            fmt::format("  backends {:8}    most {}", sampler_->last(), sampler_->max()));
    }
    std::string out;
    if (drawn_lines_ > 0) out += fmt::format("\x1b[{}A", drawn_lines_);
    for (const std::string& line : lines) out += line + "\x1b[K\n";
    drawn_lines_ = lines.size();
    std::fwrite(out.data(), 1, out.size(), stderr);
}

void Progress::print_line(Instant now) const {
    const Counts rate = rates();
    const std::string backends =
        sampler_ == nullptr ? std::string() : fmt::format("  backends {}", sampler_->last());
    const std::string line =
        fmt::format("  {}: {:.0f} s  useful {}/s  refused {}/s  failed {}/s{}\n", label_,
                    to_seconds(now - started_), rate.ok, rate.refused, rate.errors, backends);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace pgb::load
