#pragma once

#include <optional>

namespace pgb {

/// Type bytes of the messages a frontend sends after its startup packet
/// (PostgreSQL manual, "Message Formats"). Startup packets have no type byte: startup.h.
enum class FrontendType : char {
    query = 'Q',          ///< simple query; answered up to one ReadyForQuery
    parse = 'P',          ///< makes a prepared statement
    bind = 'B',           ///< makes a portal of a prepared statement
    describe = 'D',       ///< of a statement or a portal
    execute = 'E',        ///< runs a portal
    close = 'C',          ///< of a statement or a portal
    sync = 'S',           ///< ends an extended batch; answered by ReadyForQuery, but not in COPY
    flush = 'H',          ///< asks for what is ready; has no answer of its own
    function_call = 'F',  ///< the fast path; answered up to one ReadyForQuery
    terminate = 'X',      ///< goodbye
    copy_data = 'd',      ///< ignored by the server outside COPY, as are the next two
    copy_done = 'c',
    copy_fail = 'f',
    password = 'p',  ///< any answer to an authentication request, SASL's two included
};

/// Type bytes of the messages a backend sends.
enum class BackendType : char {
    authentication = 'R',         ///< login step, or AuthenticationOk
    backend_key_data = 'K',       ///< process id and secret for CancelRequest
    parameter_status = 'S',       ///< asynchronous: a reported setting has this value now
    ready_for_query = 'Z',        ///< carries the transaction status: ready_for_query.h
    error_response = 'E',         ///< error_response.h
    notice_response = 'N',        ///< asynchronous; same body as an error
    notification_response = 'A',  ///< asynchronous: NOTIFY
    parse_complete = '1',
    bind_complete = '2',
    close_complete = '3',
    command_complete = 'C',       ///< carries the command tag
    parameter_description = 't',  ///< first answer to a Describe of a statement
    row_description = 'T',
    data_row = 'D',
    no_data = 'n',               ///< answer to Describe of what returns no rows
    empty_query_response = 'I',  ///< instead of CommandComplete when the text was empty
    portal_suspended = 's',      ///< Execute stopped at its row limit
    copy_in_response = 'G',
    copy_out_response = 'H',
    copy_both_response = 'W',  ///< replication only
    copy_data = 'd',
    copy_done = 'c',
    function_call_response = 'V',
    negotiate_protocol_version = 'v',
};

/// The type of a frontend message, or nothing when PostgreSQL knows no such type.
[[nodiscard]] std::optional<FrontendType> frontend_type(char byte);

/// The type of a backend message, or nothing when PostgreSQL knows no such type.
[[nodiscard]] std::optional<BackendType> backend_type(char byte);

}  // namespace pgb
