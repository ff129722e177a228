#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace pgb {

/// What an HTTP server has understood of a request; a header that is not there is empty.
struct HttpRequest {
    std::string method;
    std::string path;  ///< without its query
    std::string host;
    std::size_t host_count = 0;  ///< more than one is a trick
    std::string origin;
    std::string authorization;
    std::string content_type;
};

/// What a view answers and an HTTP server is to send.
struct HttpAnswer {
    int status = 0;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
};

}  // namespace pgb
