#include "proxy/io/name_lookup.h"

#include <netdb.h>
#include <uv.h>

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

/// Lives until libuv gives it back, which may be after the lookup has gone.
struct NameLookup::Request {
    uv_getaddrinfo_t request{};
    NameLookup* owner = nullptr;
};

namespace {

// Addresses of one name that are tried; more only prolong a failure.
constexpr std::size_t kAddressesMax = 16;

NameLookup::Answer read_answer(int status, const addrinfo* list) {
    NameLookup::Answer answer;
    if (status != 0) {
        answer.error = uv_strerror(status);
        return answer;
    }
    for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0,
                        NI_NUMERICHOST) != 0) {
            continue;
        }
        std::vector<std::string>& known = answer.addresses;
        if (known.size() < kAddressesMax &&
            std::find(known.begin(), known.end(), text) == known.end()) {
            known.emplace_back(text);
        }
    }
    if (answer.addresses.empty()) answer.error = "no address";
    return answer;
}

}  // namespace

std::optional<std::string> NameLookup::start(Loop& loop, const std::string& name) {
    PGB_CHECK(request_ == nullptr);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    request_ = new Request;
    request_->owner = this;
    request_->request.data = request_;
    const auto on_done = [](uv_getaddrinfo_t* handle, int status, addrinfo* list) {
        auto* request = static_cast<Request*>(handle->data);
        NameLookup* owner = std::exchange(request->owner, nullptr);
        Answer answer = owner != nullptr ? read_answer(status, list) : Answer{};
        uv_freeaddrinfo(list);
        delete request;
        if (owner != nullptr) {
            owner->request_ = nullptr;
            owner->done_(std::move(answer));
        }
    };
    const int problem =
        uv_getaddrinfo(loop.raw(), &request_->request, on_done, name.c_str(), nullptr, &hints);
    if (problem == 0) return std::nullopt;
    delete std::exchange(request_, nullptr);
    return uv_strerror(problem);
}

NameLookup::~NameLookup() {
    if (request_ == nullptr) return;
    request_->owner = nullptr;
    uv_cancel(reinterpret_cast<uv_req_t*>(&request_->request));
}

}  // namespace pgb
