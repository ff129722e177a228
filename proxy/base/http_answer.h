#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
    std::string if_none_match = {};
    std::string accept = {};
    /// Nothing: it was not read, as for most requests it never is.
    std::optional<std::string> body = {};
};

/// What a view answers and an HTTP server is to send.
struct HttpAnswer {
    int status = 0;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
    enum class Sequel : std::uint8_t {
        none,
        body,  ///< No answer yet: the body is to be read, and the request to be asked again with it.
        events,  ///< Server-sent events follow, for as long as the peer reads them.
    };
    Sequel sequel = Sequel::none;
};

}  // namespace pgb
