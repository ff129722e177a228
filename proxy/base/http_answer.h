#pragma once

#include <string>

namespace pgb {

/// What a view answers and an HTTP server is to send.
struct HttpAnswer {
    int status = 0;
    std::string content_type;
    std::string body;
};

}  // namespace pgb
