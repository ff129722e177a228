#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/session/shape_reader.h"
#include "tests/fuzz/require.h"

// The answer to a Describe is the same in pieces of any size. The first byte is its message type,
// the second the size of a piece.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    if (size < 2) return 0;
    const char type = data[0] % 2 == 0 ? 't' : 'T';
    const std::size_t step = 1U + data[1] % 16;
    std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);

    ShapeReader whole;
    whole.start();
    whole.read(type, true, bytes);
    ShapeReader pieces;
    pieces.start();
    pieces.read(type, true, fuzz::take(bytes, step));
    while (!bytes.empty()) pieces.read(type, false, fuzz::take(bytes, step));
    require(whole.types() == pieces.types());
    require(whole.rows() == pieces.rows());
    require(whole.types().size() < size);
    return 0;
}
