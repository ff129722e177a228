#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "proxy/base/instant.h"
#include "tests/support/load/loop.h"
#include "tests/support/load/sampler.h"
#include "tests/support/load/tally.h"

namespace pgb::load {

/// Shows a run while it goes, on standard error: on a terminal a panel that is drawn anew ten
/// times a second, elsewhere a plain line every two seconds. Reads the tally and changes nothing.
class Progress {
public:
    /// `sampler` may be null. All references outlive the panel.
    Progress(Loop& loop, const Tally& tally, const Sampler* sampler, std::string label,
             Duration whole);

    void start(Instant now);
    /// Draws once more, leaves the cursor below the panel, and stops.
    void finish();

private:
    struct Counts {
        std::uint64_t ok = 0;
        std::uint64_t refused = 0;
        std::uint64_t errors = 0;
    };

    void tick();
    void draw_panel(Instant now);
    void print_line(Instant now) const;
    [[nodiscard]] Counts counts() const;
    [[nodiscard]] Counts rates() const;
    [[nodiscard]] std::string sparkline() const;

    const Tally& tally_;
    const Sampler* sampler_;
    std::string label_;
    Duration whole_;
    Timer timer_;
    bool on_terminal_;
    Instant started_;
    std::size_t tick_count_ = 0;
    std::size_t drawn_lines_ = 0;
    std::deque<Counts> last_second_;
    std::vector<std::uint64_t> useful_history_;
};

}  // namespace pgb::load
