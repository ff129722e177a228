#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pgb::config {

/// Bounds of a budgets file. Guesses with room: a file with a thousand workloads fits in all three.
inline constexpr std::size_t kDocumentBytesMax = 1 << 20;
inline constexpr std::size_t kDocumentNodesMax = 50000;
inline constexpr std::size_t kDocumentDepthMax = 8;  // the format itself needs 5

/// From 1, as editors count; 0 stands for the whole file.
struct Position {
    int line = 0;
    int column = 0;
};

/// A YAML document without YAML: what yaml.cpp hands to read.cpp. `bad` stands where a complaint has
/// been made already, so that nobody makes a second.
struct Node {
    enum class Kind : std::uint8_t { null, scalar, list, map, bad };
    struct Key {
        std::string name;
        Position at;
    };

    Kind kind = Kind::null;
    bool quoted = false;  // a quoted "null" or "8" is text
    std::string text;     // of a scalar, before ${NAME} is replaced
    Position at;
    std::vector<Node> items;  // of a list or map
    std::vector<Key> keys;    // of a map: keys[i] names items[i]; no name stands twice

    [[nodiscard]] const Node* find(std::string_view name) const {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i].name == name) return &items[i];
        }
        return nullptr;
    }
};

}  // namespace pgb::config
