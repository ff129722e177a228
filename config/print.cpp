#include "config/print.h"

#include <cstddef>
#include <vector>

#include "config/keys.h"
#include "config/values.h"

namespace pgb::config {
namespace {

/// Writes the keys of sections as YAML, nested by the dots of their names.
class Printer {
public:
    explicit Printer(Secrets secrets) : secrets_(secrets) {}

    /// `indent` blanks before each line; `first` replaces them on the first one ("  - ").
    void section(const Section& section, void* object, std::size_t indent, std::string first = {});
    void line(const std::string& text) { text_ += text + "\n"; }
    std::string take() { return std::move(text_); }

private:
    std::string value_of(const Key& key, const Slot& slot) const;

    Secrets secrets_;
    std::string text_;
};

/// `tls.cert` is inside `tls`; what a row and its predecessor share is not written again.
std::string_view group_of(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

std::size_t depth_of(std::string_view name) {
    std::size_t depth = 0;
    for (char c : name) depth += c == '.' ? 1 : 0;
    return depth;
}

std::string_view leaf_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string Printer::value_of(const Key& key, const Slot& slot) const {
    return secrets_ == Secrets::shown ? show(key, slot) : show_masked(key, slot);
}

void Printer::section(const Section& section, void* object, std::size_t indent, std::string first) {
    std::string lead = first.empty() ? std::string(indent, ' ') : std::move(first);
    std::string_view group;
    for (const Key& key : section.keys) {
        const std::string_view now = group_of(key.name);
        if (now != group && !now.empty()) {
            line(lead + std::string(2 * depth_of(now), ' ') + std::string(leaf_of(now)) + ":");
            lead = std::string(indent, ' ');
        }
        group = now;
        line(lead + std::string(2 * depth_of(key.name), ' ') + std::string(leaf_of(key.name)) +
             ": " + value_of(key, key.slot(object)));
        lead = std::string(indent, ' ');
    }
}

std::string cell(std::string_view text) {
    std::string result;
    for (char c : text) {
        if (c == '|') result += '\\';
        result += c;
    }
    return result;
}

struct TypeWords {
    std::string operator()(const std::string*) const { return "text"; }
    std::string operator()(const std::optional<std::string>*) const { return "text or null"; }
    std::string operator()(const std::uint64_t*) const { return "number"; }
    std::string operator()(const std::optional<std::uint64_t>*) const { return "number or null"; }
    std::string operator()(const std::uint16_t*) const { return "number"; }
    std::string operator()(const std::uint32_t*) const { return "octal text"; }
    std::string operator()(const bool*) const { return "true or false"; }
    std::string operator()(const Duration*) const { return "duration"; }
    std::string operator()(const WordSlot& slot) const {
        std::string words;
        for (std::string_view word : slot.words) {
            words += (words.empty() ? "" : ", ") + std::string(word);
        }
        return words;
    }
    std::string operator()(const std::optional<Address>*) const { return "address:port or null"; }
    std::string operator()(const std::vector<std::string>*) const { return "list of texts"; }
    std::string operator()(const TagList*) const { return "mapping of texts"; }
};

std::string type_words(const Key& key, const Slot& slot) {
    switch (key.form) {
        case Form::name: return "name";
        case Form::glob: return "glob or null";
        case Form::network: return "network or null";
        case Form::pattern: return "pattern or null";
        case Form::sqlstate: return "SQLSTATE";
        case Form::size: return "size";
        case Form::plain:
        case Form::tls_version:
        case Form::conninfo:
        case Form::octal:
        case Form::count:
        case Form::duration: break;
    }
    return std::visit(TypeWords{}, slot);
}

bool is_number(Form form) {
    return form == Form::count || form == Form::size || form == Form::duration ||
           form == Form::octal;
}

std::string key_row(const Section& section, const Key& key) {
    Listener listener;
    DatabaseEntry database;
    Workload workload;
    Config config;
    void* object = &config;
    if (section.path == "listen") object = &listener;
    if (section.path == "databases") object = &database;
    if (section.path == "workloads") object = &workload;
    std::string range = "-";
    if (is_number(key.form)) {
        range = show_bound(key.form, key.range.low) + " to " + show_bound(key.form, key.range.high);
    }
    std::string standard = "`" + show_default(section, key) + "`";
    if (!key.default_words.empty()) standard = key.default_words;
    if (key.presence == Presence::required) standard = "required";
    return "| `" + full_name(section, key) + "` | " + cell(type_words(key, key.slot(object))) +
           " | " + range + " | " + cell(standard) + " | " +
           (key.built == Built::yes ? "yes" : "no") + " | " +
           (key.reload == Reload::live ? "live" : "restart") + " | " + cell(key.meaning) + " |\n";
}

}  // namespace

std::string print(const Config& config, Secrets secrets) {
    Config copy = config;  // slots are not const
    Printer printer(secrets);
    printer.line("listen:");
    for (Listener& listener : copy.listen) {
        printer.section(listener_section(), &listener, 4, "  - ");
    }
    printer.line("databases:");
    for (DatabaseEntry& entry : copy.databases) {
        printer.line("  " + show_key(entry.name) + ":");
        printer.section(database_section(), &entry, 4);
    }
    printer.line("workloads:");
    for (Workload& workload : copy.workloads) {
        printer.section(workload_section(), &workload, 4, "  - ");
    }
    printer.section(top_section(), &copy, 0);
    return printer.take();
}

std::string print_keys() {
    std::string result =
        "| key | type | range | default | built | reload | meaning "
        "|\n|---|---|---|---|---|---|---|\n";
    for (const Section& section :
         {listener_section(), database_section(), workload_section(), top_section()}) {
        for (const Key& key : section.keys) result += key_row(section, key);
    }
    return result;
}

}  // namespace pgb::config
