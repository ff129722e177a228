#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "config/codes.h"
#include "config/embedded.h"
#include "config/findings.h"
#include "config/read.h"
#include "config/validate.h"

namespace pgb::config {
namespace {

Position position_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

/// Builds the tree from the parser's events. yaml-cpp's own tree is not used: it merges duplicate
/// keys, follows aliases and forgets which scalars were quoted.
class TreeBuilder final : public YAML::EventHandler {
public:
    explicit TreeBuilder(Findings& findings) : findings_(findings) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        judge(mark, "", anchor);
        leaf(Node::Kind::null, mark);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        complain(mark, code::kAlias, "an alias is not part of this format: write the value out");
        leaf(Node::Kind::bad, mark);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        judge(mark, tag, anchor);
        leaf(Node::Kind::scalar, mark, value, tag == "!");
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        judge(mark, tag, anchor);
        open(Node::Kind::list, mark);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        judge(mark, tag, anchor);
        open(Node::Kind::map, mark);
    }
    void OnMapEnd() override { close(); }

    Node take() { return std::move(root_); }

private:
    struct Frame {
        Node node;
        bool expects_key = false;
        bool skip_value = false;
        std::set<std::string> seen;
    };

    void complain(const YAML::Mark& mark, std::string_view code, std::string words) {
        findings_.add(position_of(mark), Problem{code, std::move(words), ""});
    }

    void judge(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        if (anchor != 0) {
            complain(mark, code::kAlias, "an anchor is not part of this format");
        }
        if (!tag.empty() && tag != "?" && tag != "!") {
            complain(mark, code::kAlias, "a tag is not part of this format");
        }
    }

    /// Past a bound the events are dropped, after one complaint: the parser cannot be stopped, and
    /// the size of the text bounds what it still does.
    bool within_bounds(const YAML::Mark& mark) {
        if (overflow_) return false;
        ++node_count_;
        if (node_count_ <= kDocumentNodesMax && open_.size() <= kDocumentDepthMax) return true;
        overflow_ = true;
        complain(mark, code::kTooLarge,
                 node_count_ > kDocumentNodesMax
                     ? "the document has more than " + std::to_string(kDocumentNodesMax) + " values"
                     : "the document is nested deeper than " + std::to_string(kDocumentDepthMax));
        return false;
    }

    void leaf(Node::Kind kind, const YAML::Mark& mark, std::string text = {}, bool quoted = false) {
        if (!within_bounds(mark)) return;
        Node node;
        node.kind = kind;
        node.quoted = quoted;
        node.text = std::move(text);
        node.at = position_of(mark);
        attach(std::move(node));
    }

    void open(Node::Kind kind, const YAML::Mark& mark) {
        if (!within_bounds(mark)) return;
        Frame frame;
        frame.node.kind = kind;
        frame.node.at = position_of(mark);
        frame.expects_key = kind == Node::Kind::map;
        open_.push_back(std::move(frame));
    }

    void close() {
        if (overflow_ || open_.empty()) return;
        Node node = std::move(open_.back().node);
        open_.pop_back();
        attach(std::move(node));
    }

    void attach(Node node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Frame& frame = open_.back();
        if (frame.node.kind == Node::Kind::list) {
            frame.node.items.push_back(std::move(node));
        } else if (frame.expects_key) {
            frame.expects_key = false;
            frame.skip_value = !accept_key(frame, node);
        } else {
            frame.expects_key = true;
            if (!frame.skip_value) frame.node.items.push_back(std::move(node));
        }
    }

    bool accept_key(Frame& frame, const Node& key) {
        if (key.kind == Node::Kind::bad) return false;
        if (key.kind != Node::Kind::scalar) {
            findings_.add(key.at, Problem{code::kWrongType, "a key must be a word", ""});
            return false;
        }
        if (!frame.seen.insert(key.text).second) {
            findings_.add(key.at, Problem{code::kDuplicateKey,
                                          quote(key.text) + " stands twice in this mapping", ""});
            return false;
        }
        frame.node.keys.push_back({key.text, key.at});
        return true;
    }

    Findings& findings_;
    Node root_;
    std::vector<Frame> open_;
    std::size_t node_count_ = 0;
    bool overflow_ = false;
};

/// Nothing when the text has no tree worth reading; the complaint has been made then.
std::optional<Node> parse_tree(std::string_view text, Findings& findings) {
    if (text.size() > kDocumentBytesMax) {
        findings.add(Position{}, Problem{code::kTooLarge, "the file is larger than 1MiB", ""});
        return std::nullopt;
    }
    TreeBuilder builder(findings);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        const bool found = parser.HandleNextDocument(builder);
        Node root = builder.take();
        if (found && parser.HandleNextDocument(builder)) {
            findings.add(builder.take().at,
                         Problem{code::kSyntax, "a budgets file is one document", ""});
            return std::nullopt;
        }
        return root;
    } catch (const YAML::Exception& error) {
        const Position at = error.mark.is_null() ? Position{} : position_of(error.mark);
        findings.add(at, Problem{code::kSyntax, "not YAML: " + error.msg, ""});
    }
    return std::nullopt;
}

/// A complaint about what the file does not say has no line in it.
void forget_positions(Node& top) {
    std::vector<Node*> left{&top};
    while (!left.empty()) {
        Node& node = *left.back();
        left.pop_back();
        node.at = {};
        for (Node::Key& key : node.keys) key.at = {};
        for (Node& item : node.items) left.push_back(&item);
    }
}

/// Doors and databases have useful defaults that no struct can hold: the embedded file's own. They
/// are grafted in where the file is silent, so that they pass the same reader and the same rules.
void graft_defaults(Node& root) {
    Findings none("embedded");
    std::optional<Node> embedded = parse_tree(kEmbeddedBudgets, none);
    if (!embedded || root.kind != Node::Kind::map) return;
    for (std::size_t i = 0; i < embedded->keys.size(); ++i) {
        const std::string& name = embedded->keys[i].name;
        if (name == "workloads" || root.find(name) != nullptr) continue;
        forget_positions(embedded->items[i]);
        root.keys.push_back({name, Position{}});
        root.items.push_back(std::move(embedded->items[i]));
    }
}

}  // namespace

Loaded load_text(std::string_view text, std::string_view file, const EnvLookup& env) {
    Findings findings(file);
    std::optional<Node> root = parse_tree(text, findings);
    Loaded loaded;
    if (root) {
        graft_defaults(*root);
        Config config = read_config(*root, env, findings);
        complete(config, findings);
        validate(config, findings);
        loaded.config = std::move(config);
    }
    loaded.complaints = findings.take();
    if (has_errors(loaded.complaints)) loaded.config.reset();
    return loaded;
}

Loaded load_file(const std::string& path, const EnvLookup& env) {
    std::ifstream stream(path, std::ios::binary);
    std::string text(kDocumentBytesMax + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    // Opening a directory succeeds; reading it is what fails.
    if (stream.bad() || (text.empty() && !stream.eof())) {
        Findings findings(path);
        findings.add(Position{}, Problem{code::kUnreadable, "cannot read this file", ""});
        return Loaded{std::nullopt, findings.take()};
    }
    return load_text(text, path, env);
}

Config default_config(const EnvLookup& env) {
    return load_text(kEmbeddedBudgets, "embedded", env).config.value_or(Config{});
}

}  // namespace pgb::config
