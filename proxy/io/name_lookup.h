#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/io/loop.h"

namespace pgb {

/// Resolves one host name on libuv's thread pool. Destroying it forgets the answer; the pool's
/// thread may go on for as long as the system's resolver likes.
class NameLookup {
public:
    /// The numeric addresses in the resolver's order, or what it says instead.
    struct Answer {
        std::vector<std::string> addresses;
        std::string error;
    };
    using Done = std::function<void(Answer)>;

    explicit NameLookup(Done done) : done_(std::move(done)) {}
    ~NameLookup();
    NameLookup(const NameLookup&) = delete;
    NameLookup& operator=(const NameLookup&) = delete;

    /// `done` comes later, on the loop, once. A name that no resolver takes (too long, not UTF-8)
    /// gives the reason at once, and then `done` never comes.
    [[nodiscard]] std::optional<std::string> start(Loop& loop, const std::string& name);

private:
    struct Request;

    Done done_;
    Request* request_ = nullptr;
};

}  // namespace pgb
