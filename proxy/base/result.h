#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace pgb {

/// What went wrong in the world outside, in words for a person; `code` is an errno or 0.
struct Error {
    std::string message;
    int code = 0;
};

/// A value or the reason why there is none. The world's failures travel as values: no exception
/// crosses a function of ours.
template <typename T, typename E = Error>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    [[nodiscard]] T& value() { return std::get<0>(state_); }
    [[nodiscard]] const T& value() const { return std::get<0>(state_); }
    [[nodiscard]] E& error() { return std::get<1>(state_); }
    [[nodiscard]] const E& error() const { return std::get<1>(state_); }

    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    std::variant<T, E> state_;
};

}  // namespace pgb
