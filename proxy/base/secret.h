#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace pgb {

/// Overwrites what a string of secrets holds, which is empty then. The compiler can't leave it out. A
/// string that has grown has left earlier copies behind: reserve first.
inline void wipe(std::string& secret) {
    explicit_bzero(secret.data(), secret.size());
    secret.clear();
}

/// A text that is overwritten when it is no longer needed, wherever it was moved in between. Never
/// printed: it has no operator for that, and whoever logs takes other types.
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string_view text) : text_(text) {}
    ~Secret() { wipe(text_); }
    Secret(const Secret&) = default;
    Secret& operator=(const Secret& other) {
        if (this != &other) {
            wipe(text_);
            text_ = other.text_;
        }
        return *this;
    }
    Secret(Secret&& other) noexcept : text_(other.text_) { wipe(other.text_); }
    Secret& operator=(Secret&& other) noexcept {
        if (this != &other) {
            *this = static_cast<const Secret&>(other);
            wipe(other.text_);
        }
        return *this;
    }

    [[nodiscard]] bool empty() const { return text_.empty(); }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

}  // namespace pgb
