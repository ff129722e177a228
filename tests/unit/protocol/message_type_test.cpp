#include "protocol/message_type.h"

#include <string_view>

#include "tests/support/catch.h"

namespace pgb {

TEST_CASE("message_type: exactly the frontend types of PostgreSQL's manual are known") {
    constexpr std::string_view kKnown = "QPBDECSHFXdcfp";
    for (int byte = 0; byte < 256; ++byte) {
        const char type = static_cast<char>(byte);
        const bool is_known = kKnown.find(type) != std::string_view::npos;
        CHECK(frontend_type(type).has_value() == is_known);
        if (is_known) CHECK(static_cast<char>(*frontend_type(type)) == type);
    }
}

TEST_CASE("message_type: exactly the backend types of PostgreSQL's manual are known") {
    constexpr std::string_view kKnown = "RKSZENA123CtTDnIsGHWdcVv";
    for (int byte = 0; byte < 256; ++byte) {
        const char type = static_cast<char>(byte);
        const bool is_known = kKnown.find(type) != std::string_view::npos;
        CHECK(backend_type(type).has_value() == is_known);
        if (is_known) CHECK(static_cast<char>(*backend_type(type)) == type);
    }
}

}  // namespace pgb
