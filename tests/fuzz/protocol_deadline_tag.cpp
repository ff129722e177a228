#include <cstdint>
#include <string>

#include "protocol/deadline_tag.h"
#include "tests/fuzz/require.h"

// The cheap look at a text never hides a tag, and a time is within its bounds. The first byte says
// whether the text is whole.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    if (size == 0) return 0;
    const bool whole = data[0] % 2 == 0;
    const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    const DeadlineTag tag = read_deadline_tag(text, whole);
    if (tag.milliseconds || tag.garbled) require(may_have_tags(text));
    require(!(tag.milliseconds && tag.garbled));
    if (tag.milliseconds) require(*tag.milliseconds <= DeadlineTag::kMillisecondsMax);
    require(deadline_tag(text, whole).milliseconds == tag.milliseconds);
    return 0;
}
