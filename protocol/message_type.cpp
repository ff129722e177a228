#include "protocol/message_type.h"

namespace pgb {

std::optional<FrontendType> frontend_type(char byte) {
    const auto type = static_cast<FrontendType>(byte);
    switch (type) {
        case FrontendType::query:
        case FrontendType::parse:
        case FrontendType::bind:
        case FrontendType::describe:
        case FrontendType::execute:
        case FrontendType::close:
        case FrontendType::sync:
        case FrontendType::flush:
        case FrontendType::function_call:
        case FrontendType::terminate:
        case FrontendType::copy_data:
        case FrontendType::copy_done:
        case FrontendType::copy_fail:
        case FrontendType::password: return type;
    }
    return std::nullopt;
}

std::optional<BackendType> backend_type(char byte) {
    const auto type = static_cast<BackendType>(byte);
    switch (type) {
        case BackendType::authentication:
        case BackendType::backend_key_data:
        case BackendType::parameter_status:
        case BackendType::ready_for_query:
        case BackendType::error_response:
        case BackendType::notice_response:
        case BackendType::notification_response:
        case BackendType::parse_complete:
        case BackendType::bind_complete:
        case BackendType::close_complete:
        case BackendType::command_complete:
        case BackendType::parameter_description:
        case BackendType::row_description:
        case BackendType::data_row:
        case BackendType::no_data:
        case BackendType::empty_query_response:
        case BackendType::portal_suspended:
        case BackendType::copy_in_response:
        case BackendType::copy_out_response:
        case BackendType::copy_both_response:
        case BackendType::copy_data:
        case BackendType::copy_done:
        case BackendType::function_call_response:
        case BackendType::negotiate_protocol_version: return type;
    }
    return std::nullopt;
}

}  // namespace pgb
