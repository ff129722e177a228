#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/framer.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

struct Seen {
    char type;
    std::uint64_t size;
    std::string body;
    std::uint64_t joined;

    bool operator==(const Seen&) const = default;
};

struct Reading {
    std::vector<Seen> messages;
    bool malformed = false;
    bool in_message = false;

    bool operator==(const Reading&) const = default;
};

// Feeds the bytes in pieces of varying sizes; what the framer leaves is kept, as a connection
// does it. Step 0: all at once.
Reading read(const HeadTable& heads, std::string_view bytes, std::size_t step) {
    Reading reading;
    Framer framer(heads);
    std::string kept;
    std::string joined;
    for (std::size_t at = 0, turn = 0; at < bytes.size() && !reading.malformed; ++turn) {
        const std::size_t size = step == 0 ? bytes.size() : 1 + (turn * 7 + step) % (2 * step);
        kept += bytes.substr(at, size);
        at += size;
        Frame frame;
        FrameStatus status = FrameStatus::frame;
        while (true) {
            status = framer.next(kept, frame);
            if (status != FrameStatus::frame) break;
            require(!frame.bytes.empty() && frame.bytes.size() <= frame.size);
            if (frame.first) {
                reading.messages.push_back({frame.type, frame.size, std::string(frame.body()), 0});
            }
            reading.messages.back().joined += frame.bytes.size();
            require(frame.last == (reading.messages.back().joined == frame.size));
            joined += frame.bytes;
            kept.erase(0, frame.bytes.size());
        }
        reading.malformed = status == FrameStatus::malformed;
    }
    reading.in_message = framer.in_message();
    require(joined + kept == bytes.substr(0, joined.size() + kept.size()));
    return reading;
}

}  // namespace

// The same bytes, cut in two ways, are the same messages.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const std::uint32_t buffer_max = 5 + data[0] * 4U;
    const HeadTable heads =
        data[1] % 2 == 0 ? frontend_heads(buffer_max) : backend_heads(buffer_max);
    const std::size_t step = 1 + data[2] % 64;
    const std::string bytes(reinterpret_cast<const char*>(data + 3), size - 3);
    require(read(heads, bytes, 0) == read(heads, bytes, step));
    return 0;
}
