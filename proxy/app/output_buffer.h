#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "proxy/io/socket.h"

namespace pgb {

/// The bytes that one direction of a connection could not get rid of yet. Empty nearly always: what
/// is written goes straight to the kernel, and only what it did not take is copied here.
class OutputBuffer {
public:
    [[nodiscard]] bool empty() const { return waiting_ == nullptr; }
    [[nodiscard]] std::size_t size() const {
        return waiting_ == nullptr ? 0 : waiting_->bytes.size() - waiting_->sent;
    }

    /// Writes what waits, then the segments, by `write(span) -> WriteResult`; keeps the rest.
    /// False: the connection is broken, and everything is dropped.
    template <typename Write>
    bool send(std::span<const std::string_view> segments, Write write) {
        if (!drain(write)) return false;
        std::size_t skip = 0;
        while (empty() && !segments.empty()) {
            const WriteResult result = write(segments);
            if (result.status == IoStatus::error) return drop();
            if (result.status != IoStatus::bytes) break;
            skip = result.count;
            while (!segments.empty() && skip >= segments.front().size()) {
                skip -= segments.front().size();
                segments = segments.subspan(1);
            }
            if (skip > 0) break;
        }
        for (const std::string_view segment : segments) {
            keep(segment.substr(skip));
            skip = 0;
        }
        return true;
    }

    /// Writes what waits. False: the connection is broken.
    template <typename Write>
    bool drain(Write write) {
        while (!empty()) {
            const std::string_view rest = std::string_view(waiting_->bytes).substr(waiting_->sent);
            const WriteResult result = write(std::span(&rest, 1));
            if (result.status == IoStatus::error) return drop();
            if (result.status != IoStatus::bytes) return true;
            waiting_->sent += result.count;
            if (size() == 0) clear();
        }
        return true;
    }

    /// The memory goes back at once: an idle connection owns no buffer.
    void clear() { waiting_.reset(); }

private:
    bool drop() {
        clear();
        return false;
    }

    void keep(std::string_view bytes) {
        if (bytes.empty()) return;
        if (waiting_ == nullptr) waiting_ = std::make_unique<Waiting>();
        waiting_->bytes += bytes;
    }

    struct Waiting {
        std::string bytes;  // never all sent
        std::size_t sent = 0;
    };
    std::unique_ptr<Waiting> waiting_;  // most connections have none, most of the time
};

}  // namespace pgb
