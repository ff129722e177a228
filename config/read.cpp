#include "config/read.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "config/codes.h"
#include "config/environment.h"
#include "config/keys.h"
#include "config/suggest.h"
#include "config/values.h"
#include "protocol/query_tags.h"

namespace pgb::config {
namespace {

std::string_view kind_words(Node::Kind kind) {
    switch (kind) {
        case Node::Kind::null: return "null";
        case Node::Kind::scalar: return "a single value";
        case Node::Kind::list: return "a list";
        case Node::Kind::map: return "a mapping";
        case Node::Kind::bad: return "a mistake";
    }
    return "";
}

std::string join(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
}

std::string indexed(std::string_view list, std::size_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
}

class Reader {
public:
    Reader(const EnvLookup& env, Findings& findings) : env_(env), findings_(findings) {}

    Config read(const Node& root);

private:
    /// A mapping of a section still to be read; `prefix` is its place within the section.
    struct Mapping {
        const Node* node;
        std::string prefix;
    };

    void read_section(const Section& section, void* object, const Node& node,
                      const std::string& path, std::span<const std::string_view> elsewhere = {});
    void read_entry(const Section& section, void* object, const std::string& path,
                    const Mapping& mapping, std::size_t index, std::vector<Mapping>& pending,
                    std::span<const std::string_view> elsewhere);
    void read_value(const Section& section, const Key& key, void* object, const Node& node,
                    const std::string& path);
    std::optional<Problem> read_list(const Node& node, std::vector<std::string>& value);
    std::optional<Problem> read_tags(const Node& node, TagList& value);
    std::optional<Problem> read_scalar(const Key& key, const Slot& slot, const Node& node);
    std::optional<std::string> text_of(const Node& node, std::optional<Problem>& problem) const;

    void read_listeners(const Node& root, Config& config);
    void read_databases(const Node& root, Config& config);
    void read_workloads(const Node& root, Config& config);

    /// Whether the value is of that kind and not empty; complains if not. Null never is.
    bool expect(const Node& node, Node::Kind kind, const std::string& path, std::string_view what);
    void wrong_type(const Node& node, const std::string& path, std::string_view wanted);

    const EnvLookup& env_;
    Findings& findings_;
};

void Reader::wrong_type(const Node& node, const std::string& path, std::string_view wanted) {
    if (node.kind != Node::Kind::bad) {
        findings_.note(path, node.at);
        findings_.add(path, Problem{code::kWrongType,
                                    "`" + path + "` takes " + std::string(wanted) + ", not " +
                                        std::string(kind_words(node.kind)),
                                    ""});
    }
    findings_.spoil(path);
}

bool Reader::expect(const Node& node, Node::Kind kind, const std::string& path,
                    std::string_view what) {
    findings_.note(path, node.at);
    if (node.kind != kind) {
        wrong_type(node, path, what);
        return false;
    }
    if (!node.items.empty()) return true;
    findings_.add(path, Problem{code::kMissingKey, "`" + path + "` is empty", ""});
    return false;
}

Config Reader::read(const Node& root) {
    Config config;
    if (root.kind != Node::Kind::map) {
        if (root.kind != Node::Kind::bad) {
            findings_.add(root.at, Problem{code::kSyntax,
                                           "a budgets file is a mapping; the smallest is "
                                           "`workloads: [{name: default, concurrency: 8}]`",
                                           ""});
        }
        for (const char* list : {"listen", "databases", "workloads"}) findings_.spoil(list);
        return config;
    }
    static constexpr std::string_view kLists[] = {"listen", "databases", "workloads"};
    read_section(top_section(), &config, root, "", kLists);
    read_listeners(root, config);
    read_databases(root, config);
    read_workloads(root, config);
    return config;
}

void Reader::read_listeners(const Node& root, Config& config) {
    const Node* list = root.find("listen");
    if (list == nullptr || !expect(*list, Node::Kind::list, "listen", "a list")) return;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        Listener& listener = config.listen.emplace_back();
        listener.auth = config.auth;
        read_section(listener_section(), &listener, list->items[i], indexed("listen", i));
    }
}

void Reader::read_databases(const Node& root, Config& config) {
    const Node* map = root.find("databases");
    if (map == nullptr || !expect(*map, Node::Kind::map, "databases", "a mapping")) return;
    for (std::size_t i = 0; i < map->items.size() && i < map->keys.size(); ++i) {
        const std::string path = indexed("databases", i);
        DatabaseEntry& entry = config.databases.emplace_back();
        entry.name = map->keys[i].name;
        findings_.note(path + ".name", map->keys[i].at);
        read_section(database_section(), &entry, map->items[i], path);
    }
}

void Reader::read_workloads(const Node& root, Config& config) {
    const Node* list = root.find("workloads");
    if (list == nullptr) {
        findings_.add(Position{}, Problem{code::kMissingKey,
                                          "`workloads` is missing; the smallest is "
                                          "`workloads: [{name: default, concurrency: 8}]`",
                                          ""});
        findings_.spoil("workloads");
        return;
    }
    if (!expect(*list, Node::Kind::list, "workloads", "a list")) return;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        Workload& workload = config.workloads.emplace_back();
        read_section(workload_section(), &workload, list->items[i], indexed("workloads", i));
    }
}

void Reader::read_section(const Section& section, void* object, const Node& node,
                          const std::string& path, std::span<const std::string_view> elsewhere) {
    if (!path.empty()) findings_.note(path, node.at);
    const bool nothing_said = node.kind == Node::Kind::null;
    if (node.kind != Node::Kind::map && !nothing_said) return wrong_type(node, path, "a mapping");

    std::vector<Mapping> pending{{&node, ""}};
    while (!pending.empty()) {
        const Mapping mapping = std::move(pending.back());
        pending.pop_back();
        const std::size_t count = std::min(mapping.node->keys.size(), mapping.node->items.size());
        for (std::size_t i = 0; i < count; ++i) {
            read_entry(section, object, path, mapping, i, pending, elsewhere);
        }
    }
    for (const Key& key : section.keys) {
        const std::string key_path = join(path, std::string(key.name));
        if (key.presence == Presence::optional || findings_.given(key_path)) continue;
        findings_.add(key_path, Problem{code::kMissingKey,
                                        "`" + full_name(section, key) + "` is missing here", ""});
    }
}

/// The words that may follow `prefix` in the section: `match`, then below it `database`, `user`.
std::vector<std::string_view> names_below(const Section& section, const std::string& prefix) {
    std::vector<std::string_view> names;
    for (const Key& key : section.keys) {
        std::string_view name = key.name;
        if (!prefix.empty()) {
            if (!name.starts_with(prefix + ".")) continue;
            name.remove_prefix(prefix.size() + 1);
        }
        name = name.substr(0, name.find('.'));
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

void Reader::read_entry(const Section& section, void* object, const std::string& path,
                        const Mapping& mapping, std::size_t index, std::vector<Mapping>& pending,
                        std::span<const std::string_view> elsewhere) {
    const Node& node = mapping.node->items[index];
    const Node::Key& word = mapping.node->keys[index];
    const std::string name = join(mapping.prefix, word.name);
    const bool top = mapping.prefix.empty();
    if (top && std::find(elsewhere.begin(), elsewhere.end(), word.name) != elsewhere.end()) return;

    // A dot in a key of the file is no nesting, though the tables write nesting that way.
    const bool dotted = word.name.find('.') != std::string::npos;
    for (const Key& key : section.keys) {
        if (key.name == name && !dotted)
            return read_value(section, key, object, node, join(path, name));
    }
    std::vector<std::string_view> known = names_below(section, mapping.prefix);
    if (std::find(known.begin(), known.end(), word.name) != known.end()) {
        if (node.kind == Node::Kind::map) {
            findings_.note(join(path, name), node.at);
            pending.push_back({&node, name});
        } else if (node.kind != Node::Kind::null) {
            wrong_type(node, join(path, name), "a mapping");
        }
        return;
    }
    if (top) known.insert(known.end(), elsewhere.begin(), elsewhere.end());
    findings_.add(word.at,
                  Problem{code::kUnknownKey, "there is no key " + quote(word.name) + " here",
                          suggest(word.name, known)});
}

std::optional<std::string> Reader::text_of(const Node& node,
                                           std::optional<Problem>& problem) const {
    auto replaced = replace_variables(node.text, env_);
    if (auto* wrong = std::get_if<Problem>(&replaced)) {
        problem = std::move(*wrong);
        return std::nullopt;
    }
    return std::get<std::string>(std::move(replaced));
}

std::optional<Problem> Reader::read_scalar(const Key& key, const Slot& slot, const Node& node) {
    if (node.kind == Node::Kind::null) return assign_null(key, slot);
    if (node.kind != Node::Kind::scalar) {
        return Problem{code::kWrongType,
                       "takes a single value, not " + std::string(kind_words(node.kind)), ""};
    }
    std::optional<Problem> problem;
    const std::optional<std::string> text = text_of(node, problem);
    return text ? assign(key, slot, *text, node.quoted) : problem;
}

std::optional<Problem> Reader::read_list(const Node& node, std::vector<std::string>& value) {
    const Problem wrong{code::kWrongType, "takes a list of words", ""};
    if (node.kind != Node::Kind::list) return wrong;
    std::vector<std::string> words;
    Key word{};
    for (const Node& item : node.items) {
        words.emplace_back();
        if (item.kind != Node::Kind::scalar) return wrong;
        if (auto problem = read_scalar(word, &words.back(), item)) return problem;
    }
    value = std::move(words);
    return std::nullopt;
}

std::optional<Problem> Reader::read_tags(const Node& node, TagList& value) {
    const Problem wrong{code::kWrongType, "takes a mapping of words to words", ""};
    if (node.kind != Node::Kind::map) return wrong;
    TagList tags;
    Key word{};
    for (std::size_t i = 0; i < std::min(node.keys.size(), node.items.size()); ++i) {
        tags.emplace_back(node.keys[i].name, "");
        if (node.items[i].kind != Node::Kind::scalar) return wrong;
        if (auto problem = read_scalar(word, &tags.back().second, node.items[i])) return problem;
        if (tags.back().first.size() > QueryTags::kKeyMax ||
            tags.back().second.size() > QueryTags::kValueMax) {
            return Problem{code::kMalformed,
                           "a tag's key has at most " + std::to_string(QueryTags::kKeyMax) +
                               " bytes, its value " + std::to_string(QueryTags::kValueMax),
                           ""};
        }
    }
    value = std::move(tags);
    return std::nullopt;
}

void Reader::read_value(const Section& section, const Key& key, void* object, const Node& node,
                        const std::string& path) {
    findings_.note(path, node.at);
    if (node.kind == Node::Kind::bad) return findings_.spoil(path);

    const Slot slot = key.slot(object);
    std::optional<Problem> problem;
    if (auto* const* list = std::get_if<std::vector<std::string>*>(&slot)) {
        problem = read_list(node, **list);
    } else if (auto* const* tags = std::get_if<TagList*>(&slot)) {
        problem = node.kind == Node::Kind::null ? std::nullopt : read_tags(node, **tags);
    } else {
        problem = read_scalar(key, slot, node);
    }
    const std::string name = full_name(section, key);
    if (problem) {
        problem->words = "`" + name + "`: " + problem->words;
        findings_.add(path, *problem);
    } else if (key.built == Built::no && !is_default(section, key, slot)) {
        findings_.add(path, Problem{code::kNotBuilt,
                                    "`" + name +
                                        "` belongs to a feature that is not built yet; "
                                        "only " +
                                        show_default(section, key) + " is accepted",
                                    ""});
    }
}

}  // namespace

Config read_config(const Node& root, const EnvLookup& env, Findings& findings) {
    return Reader(env, findings).read(root);
}

std::string quote(std::string_view text) {
    constexpr std::size_t kShown = 60;
    std::string result = "`";
    for (char c : text.substr(0, kShown)) {
        const auto byte = static_cast<unsigned char>(c);
        result += byte < 0x20 || byte == 0x7f || c == '`' ? '?' : c;
    }
    if (text.size() > kShown) result += "…";
    return result + "`";
}

}  // namespace pgb::config
