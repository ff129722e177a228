#pragma once

#include <string_view>

namespace pgb::sqlstate {

// Names and codes as in PostgreSQL's errcodes.txt (manual, appendix "PostgreSQL Error Codes").

inline constexpr std::string_view kSuccessfulCompletion = "00000";
inline constexpr std::string_view kWarning = "01000";
inline constexpr std::string_view kConnectionException = "08000";
inline constexpr std::string_view kConnectionFailure = "08006";
inline constexpr std::string_view kTransactionResolutionUnknown = "08007";
inline constexpr std::string_view kProtocolViolation = "08P01";
inline constexpr std::string_view kFeatureNotSupported = "0A000";
inline constexpr std::string_view kInvalidParameterValue = "22023";
inline constexpr std::string_view kInvalidTransactionState = "25000";
inline constexpr std::string_view kActiveSqlTransaction = "25001";
inline constexpr std::string_view kNoActiveSqlTransaction = "25P01";
inline constexpr std::string_view kInFailedSqlTransaction = "25P02";
inline constexpr std::string_view kIdleInTransactionSessionTimeout = "25P03";
inline constexpr std::string_view kTransactionTimeout = "25P04";
inline constexpr std::string_view kInvalidSqlStatementName = "26000";
inline constexpr std::string_view kInvalidAuthorizationSpecification = "28000";
inline constexpr std::string_view kInvalidPassword = "28P01";
inline constexpr std::string_view kInvalidCursorName = "34000";
inline constexpr std::string_view kInvalidSavepointSpecification = "3B001";
inline constexpr std::string_view kInvalidCatalogName = "3D000";
inline constexpr std::string_view kSerializationFailure = "40001";
inline constexpr std::string_view kInsufficientPrivilege = "42501";
inline constexpr std::string_view kSyntaxError = "42601";
inline constexpr std::string_view kDuplicatePreparedStatement = "42P05";
inline constexpr std::string_view kUndefinedObject = "42704";
inline constexpr std::string_view kTooManyConnections = "53300";
inline constexpr std::string_view kProgramLimitExceeded = "54000";
inline constexpr std::string_view kObjectNotInPrerequisiteState = "55000";
inline constexpr std::string_view kQueryCanceled = "57014";
inline constexpr std::string_view kAdminShutdown = "57P01";
inline constexpr std::string_view kCrashShutdown = "57P02";
inline constexpr std::string_view kCannotConnectNow = "57P03";
inline constexpr std::string_view kIdleSessionTimeout = "57P05";
inline constexpr std::string_view kInternalError = "XX000";

/// The first two characters, which are the class; empty when `code` is not five characters.
[[nodiscard]] constexpr std::string_view sqlstate_class(std::string_view code) {
    return code.size() == 5 ? code.substr(0, 2) : std::string_view{};
}

}  // namespace pgb::sqlstate
