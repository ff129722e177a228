#include "proxy/io/connect_trace.h"

#include "tests/support/catch.h"

using namespace pgb;

TEST_CASE("connect trace: the key is found however the text is cut") {
    const std::string text =
        "B\t22\tParameterStatus\t \"x\" \"BackendKeyData\"\nB\t12\tBackendKeyData\t 4711 "
        "-2\nB\t5\tReadyForQuery\t I\n";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        ConnectTrace trace;
        trace.take(std::string_view(text).substr(0, cut));
        trace.take(std::string_view(text).substr(cut));
        CHECK(trace.key_of(4711) == "\xff\xff\xff\xfe");
    }
}

TEST_CASE("connect trace: a key for another process, or in another form, is no key") {
    for (const std::string_view text :
         {"B\t12\tBackendKeyData\t 1 2\n", "F\t12\tBackendKeyData\t 4711 2\n",
          "B\t12\tBackendKeyData\t 4711 2 3\n", "B\t12\tBackendKeyData\t 4711\n",
          "B\t12\tBackendKeyData\t 4711 99999999999\n", "B\t40\tBackendKeyData\t 4711 'abc'\n",
          "B\t12\tBackendKeyData\t NNNN NNNN\n", "B\t12\tBackendKeyData\t 4711 2", "\n\n", ""}) {
        ConnectTrace trace;
        trace.take(text);
        CHECK(trace.key_of(4711).empty());
    }
    ConnectTrace zero;
    zero.take("B\t12\tBackendKeyData\t 0 2\n");
    CHECK(zero.key_of(0).empty());
}

TEST_CASE("connect trace: a line of any length costs no memory and hides nothing behind it") {
    ConnectTrace trace;
    trace.take("B\t99999\tParameterStatus\t \"");
    trace.take(std::string(100000, 'x'));
    trace.take("\"\nB\t12\tBackendKeyData\t 7 1\n");
    CHECK(trace.key_of(7) == std::string("\0\0\0\1", 4));
}
