#include "protocol/ready_for_query.h"

#include "protocol/writer.h"

namespace pgb {

void append_ready_for_query(std::string& out, TransactionStatus status) {
    MessageWriter writer(out);
    writer.begin(BackendType::ready_for_query).u8(static_cast<std::uint8_t>(status)).end();
}

std::optional<TransactionStatus> parse_ready_for_query(std::string_view body) {
    if (body.size() != 1) return std::nullopt;
    const auto status = static_cast<TransactionStatus>(body[0]);
    switch (status) {
        case TransactionStatus::idle:
        case TransactionStatus::in_block:
        case TransactionStatus::failed: return status;
    }
    return std::nullopt;
}

}  // namespace pgb
