#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/base/http_answer.h"

namespace pgb {

/// What a request over HTTP must bring before it may see or change anything. A browser is the
/// attacker that reaches a loopback address: any page it shows may send requests there, and a name
/// of the page's own may be made to lead there (DNS rebinding). Pure, and safe on any thread.
///
///   in this order        for            otherwise
///   one Host of ours     all            400, 403
///   Origin is that Host  all with one   403
///   a usable token       changes        403
///   Bearer of the token  changes        401
///   application/json     changes        415: a form of another site cannot say that
///
/// A Host is ours when it is an address literal, `localhost` or a name under it, or the name that
/// `admin.http` has: no page of somebody else's has such a name. The port is not looked at, since
/// forwarding changes it. There are no CORS headers: no other site ever reads an answer.

/// A token of fewer bytes can be guessed; a longer one is no token but another file.
inline constexpr std::size_t kTokenBytesMin = 16;
inline constexpr std::size_t kTokenBytesMax = 4096;

/// The refusal; nothing: it may look. `listens_on`: the host of `admin.http`.
[[nodiscard]] std::optional<HttpAnswer> refuse_stranger(const HttpRequest& request,
                                                        std::string_view listens_on);
/// The refusal of what would change something, behind the one above. `token`: what the file has;
/// nothing: there is none, or it can't be read.
[[nodiscard]] std::optional<HttpAnswer> refuse_change(const HttpRequest& request,
                                                      const std::optional<std::string>& token);
/// 405, with the methods there are.
[[nodiscard]] HttpAnswer method_not_allowed(std::string_view allowed);

/// The token in the text of its file: without white space around it. Nothing: it is too short, too
/// long, or has a byte that no header can hold.
[[nodiscard]] std::optional<std::string> token_of(std::string_view text);

/// The name in a Host header, without its port; nothing: it is malformed.
[[nodiscard]] std::optional<std::string_view> host_name(std::string_view host);

}  // namespace pgb
