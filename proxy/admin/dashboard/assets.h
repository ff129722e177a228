#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "proxy/base/http_answer.h"

namespace pgb {

/// One file of the live page, as it lies in the binary.
struct Asset {
    std::string_view name;  ///< `page.css`; its ending tells its type.
    std::string_view etag;  ///< Quoted.
    std::span<const unsigned char> bytes;
};

/// All of them; static storage. Defined in a source that the build makes of the files.
[[nodiscard]] std::span<const Asset> dashboard_assets();

/// `/` is the page, `/assets/<name>` its other files; nothing: it is another path. To a browser that
/// has the file already: 304. Every answer says that nothing but this server's own files may be
/// loaded, run or spoken to, and that no other site may frame it.
[[nodiscard]] std::optional<HttpAnswer> answer_dashboard(const HttpRequest& request);

}  // namespace pgb
