#include "proxy/io/http_get.h"

#include <httplib.h>

namespace pgb {

namespace {

constexpr time_t kConnectSeconds = 2;
// The server ends a connection after two.
constexpr time_t kReadSeconds = 3;

}  // namespace

Result<std::string> http_get(const HttpTarget& target, const std::string& path) {
    const std::string& url = target.url;
    httplib::Client client(url);
    if (!client.is_valid()) return Error{url + " is no address like http://127.0.0.1:9432"};
    client.set_connection_timeout(kConnectSeconds);
    client.set_read_timeout(kReadSeconds);
    if (!target.authorities.empty()) client.set_ca_cert_path(target.authorities);
    client.enable_server_certificate_verification(target.is_proved);
    const httplib::Result reply = client.Get(path);
    if (!reply) return Error{url + ": " + httplib::to_string(reply.error())};
    if (reply->status != 200) {
        return Error{url + path + " answers " + std::to_string(reply->status) + ": " +
                     reply->body.substr(0, 200)};
    }
    return reply->body;
}

}  // namespace pgb
