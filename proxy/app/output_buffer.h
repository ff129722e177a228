#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "proxy/app/spare_buffers.h"
#include "proxy/io/socket.h"

namespace pgb {

/// The bytes that one direction of a connection could not get rid of yet. Empty nearly always: what
/// is written goes straight to the kernel, and only what it did not take is copied here.
class OutputBuffer {
public:
    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    [[nodiscard]] std::size_t size() const { return bytes_.size() - sent_; }

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
            bytes_ += segment.substr(skip);
            skip = 0;
        }
        return true;
    }

    /// Writes what waits. False: the connection is broken.
    template <typename Write>
    bool drain(Write write) {
        while (!empty()) {
            const std::string_view rest = std::string_view(bytes_).substr(sent_);
            const WriteResult result = write(std::span(&rest, 1));
            if (result.status == IoStatus::error) return drop();
            if (result.status != IoStatus::bytes) return true;
            sent_ += result.count;
            if (sent_ == bytes_.size()) clear();
        }
        return true;
    }

    void clear() {
        // The memory goes back at once: an idle connection owns no buffer.
        free_memory(bytes_);
        sent_ = 0;
    }

private:
    bool drop() {
        clear();
        return false;
    }

    std::string bytes_;
    std::size_t sent_ = 0;
};

}  // namespace pgb
