#include "config/diff.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <variant>

#include "config/values.h"

namespace pgb::config {
namespace {

constexpr const char* kNone = "none";

/// Puts the value of a slot into that of the same key in another struct.
struct Copier {
    const Slot& to;

    void operator()(const WordSlot& from) const { *std::get<WordSlot>(to).value = *from.value; }
    template <typename Value>
    void operator()(const Value* from) const {
        *std::get<Value*>(to) = *from;
    }
};

/// An entry in short: what is not as the file has it where it is silent.
std::string summary(const Section& section, void* entry) {
    std::string words;
    for (const Key& key : section.keys) {
        const Slot slot = key.slot(entry);
        if (key.name == "name" || is_default(section, key, slot)) continue;
        if (!words.empty()) words += ", ";
        words.append(key.name).append(": ").append(show_masked(key, slot));
    }
    return "{" + words + "}";
}

std::string entry_path(const Section& section, const std::string& name) {
    return std::string(section.path) + "[" + name + "]";
}

class Differ {
public:
    /// Both are changed: slots are not const, and `wanted` becomes what is in force.
    Differ(Config in_force, const Config& wanted)
        : before_(std::move(in_force)), after_{{}, wanted} {}

    Difference compare();

private:
    void compare_keys(const Section& section, void* before, void* after, const std::string& prefix);
    template <typename Entry>
    void compare_entries(const Section& section, std::vector<Entry>& before,
                         std::vector<Entry>& after, Reload reload);
    void compare_order();
    void note(std::string path, std::string before, std::string after, Reload reload) {
        after_.changes.push_back({std::move(path), std::move(before), std::move(after), reload});
    }

    Config before_;
    Difference after_;
};

template <typename Entry>
Entry* find_named(std::vector<Entry>& entries, const std::string& name) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.name == name; });
    return found == entries.end() ? nullptr : &*found;
}

void Differ::compare_keys(const Section& section, void* before, void* after,
                          const std::string& prefix) {
    for (const Key& key : section.keys) {
        const Slot old_slot = key.slot(before);
        const Slot new_slot = key.slot(after);
        if (show(key, old_slot) == show(key, new_slot)) continue;
        std::string old_value = show_masked(key, old_slot);
        std::string new_value = show_masked(key, new_slot);
        if (old_value == new_value) new_value += " (another password)";
        note(prefix + std::string(key.name), std::move(old_value), std::move(new_value),
             key.reload);
        if (key.reload == Reload::restart) std::visit(Copier{new_slot}, old_slot);
    }
}

template <typename Entry>
void Differ::compare_entries(const Section& section, std::vector<Entry>& before,
                             std::vector<Entry>& after, Reload reload) {
    for (Entry& old : before) {
        if (find_named(after, old.name) != nullptr) continue;
        note(entry_path(section, old.name), summary(section, &old), kNone, reload);
    }
    for (Entry& entry : after) {
        const std::string path = entry_path(section, entry.name);
        if (Entry* old = find_named(before, entry.name)) {
            compare_keys(section, old, &entry, path + ".");
        } else {
            note(path, kNone, summary(section, &entry), reload);
        }
    }
    if (reload == Reload::live) return;
    // The entries stay, and of each what the file may change in it.
    std::vector<Entry> kept;
    kept.reserve(before.size());
    for (const Entry& old : before) {
        const Entry* entry = find_named(after, old.name);
        kept.push_back(entry != nullptr ? *entry : old);
    }
    after = std::move(kept);
}

// Rules are tried in their order, so it is a value of its own.
void Differ::compare_order() {
    const auto shared = [](const std::vector<Workload>& all, std::vector<Workload>& others) {
        std::string names;
        for (const Workload& workload : all) {
            if (find_named(others, workload.name) == nullptr) continue;
            names += (names.empty() ? "" : ", ") + workload.name;
        }
        return "[" + names + "]";
    };
    std::string before = shared(before_.workloads, after_.in_force.workloads);
    std::string after = shared(after_.in_force.workloads, before_.workloads);
    if (before != after) note("workloads", std::move(before), std::move(after), Reload::live);
}

Difference Differ::compare() {
    Config& after = after_.in_force;
    compare_entries(listener_section(), before_.listen, after.listen, Reload::restart);
    compare_entries(database_section(), before_.databases, after.databases, Reload::restart);
    compare_entries(workload_section(), before_.workloads, after.workloads, Reload::live);
    compare_order();
    compare_keys(top_section(), &before_, &after, "");
    return std::move(after_);
}

}  // namespace

Difference diff(const Config& in_force, const Config& wanted) {
    return Differ(in_force, wanted).compare();
}

}  // namespace pgb::config
