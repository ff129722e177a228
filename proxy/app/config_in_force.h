#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/classify.h"
#include "config/diff.h"
#include "config/model.h"

namespace pgb {

/// The configuration of a running program, which a reload changes in place.
///
/// A workload is known by its number: that of its lane in the gate, of its budget in the pools, of
/// its books. A number never comes to mean another workload. One that the file no longer has keeps
/// its number and its values, so that what it has can go on to its end, and takes nothing new; when
/// the file names it again it is the same one. So whoever keeps a number may go on using it, and
/// whoever keeps a reference to an entry of `databases` may, too: entries are changed where they
/// stand.
///
/// Rules are tried in the order of the file, whatever the numbers are. A session remembers which of
/// them its login meets, and looks again when generation() has changed. Pure.
class ConfigInForce {
public:
    /// As many workloads as one program may ever have had; a file that starts it may have more.
    static constexpr std::size_t kWorkloadsMax = 4096;

    explicit ConfigInForce(config::Config loaded);

    /// Workloads by number, also those that were removed.
    [[nodiscard]] const config::Config& values() const { return values_; }
    /// The lane of housekeeping: a workload that no file names and no rule leads to.
    [[nodiscard]] std::size_t housekeeping() const { return housekeeping_; }
    /// False: the file no longer has it.
    [[nodiscard]] bool is_listed(std::size_t workload) const { return listed_[workload]; }

    // --- Rules: everything that goes in and comes out is numbers, but for the candidates.

    using Candidates = config::Classifier::Candidates;
    /// The rules of that pooling whose conditions on the login hold; good for this generation only.
    [[nodiscard]] Candidates candidates(const config::Subject& login,
                                        config::Pooling pooling) const;
    /// The workload of a transaction among them; nothing: none of them.
    [[nodiscard]] std::optional<std::size_t> choose(const Candidates& candidates,
                                                    const config::Subject& subject) const;
    /// The workload of a login.
    [[nodiscard]] std::size_t workload_of(const config::Subject& subject) const {
        return order_[classifier_.workload_of(subject)];
    }
    [[nodiscard]] bool has_choice() const { return order_.size() > 1; }
    [[nodiscard]] bool looks_at_text() const { return classifier_.looks_at_text(); }
    [[nodiscard]] bool looks_at_application_name() const {
        return classifier_.looks_at_application_name();
    }
    /// From 1; counts the reloads.
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

    // --- Reload

    /// As a file would have it: without what was removed, in the order of the rules.
    [[nodiscard]] config::Config as_file() const;
    /// Whether there are numbers for what `wanted` has and was never here.
    [[nodiscard]] bool has_room_for(const config::Config& wanted) const;
    /// Puts in force what is live; says all that is different, as diff() does.
    std::vector<config::Change> apply(const config::Config& wanted);

private:
    [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;

    config::Config values_;
    std::size_t housekeeping_;
    std::vector<bool> listed_;        // by number
    std::vector<std::size_t> order_;  // the numbers of the rules
    config::Classifier classifier_;
    std::uint32_t generation_ = 1;
};

}  // namespace pgb
