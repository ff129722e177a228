#include "proxy/io/conninfo.h"

#include <libpq-fe.h>

#include <memory>

namespace pgb {

std::string conninfo_value(const std::string& conninfo, std::string_view keyword) {
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
        PQconninfoParse(conninfo.c_str(), nullptr), &PQconninfoFree);
    if (options == nullptr) return {};
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        if (keyword == option->keyword) return option->val == nullptr ? "" : option->val;
    }
    return {};
}

}  // namespace pgb
