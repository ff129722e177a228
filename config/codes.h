#pragma once

#include <array>
#include <string_view>

/// The codes of complaints. A code keeps its meaning for ever: scripts and runbooks name it. A rule
/// that goes away leaves a gap.
namespace pgb::config::code {

inline constexpr std::string_view kUnreadable = "PGB-CFG-001";
inline constexpr std::string_view kSyntax = "PGB-CFG-002";
inline constexpr std::string_view kTooLarge = "PGB-CFG-003";
inline constexpr std::string_view kAlias = "PGB-CFG-004";
inline constexpr std::string_view kVariable = "PGB-CFG-005";
inline constexpr std::string_view kUnknownKey = "PGB-CFG-010";
inline constexpr std::string_view kDuplicateKey = "PGB-CFG-011";
inline constexpr std::string_view kWrongType = "PGB-CFG-012";
inline constexpr std::string_view kUnit = "PGB-CFG-013";
inline constexpr std::string_view kRange = "PGB-CFG-014";
inline constexpr std::string_view kUnknownWord = "PGB-CFG-015";
inline constexpr std::string_view kMalformed = "PGB-CFG-016";
inline constexpr std::string_view kMissingKey = "PGB-CFG-017";
inline constexpr std::string_view kNotBuilt = "PGB-CFG-020";
inline constexpr std::string_view kDefaultLast = "PGB-CFG-030";
inline constexpr std::string_view kDuplicateName = "PGB-CFG-031";
inline constexpr std::string_view kBadName = "PGB-CFG-032";
inline constexpr std::string_view kUnknownListener = "PGB-CFG-033";
inline constexpr std::string_view kSqlstateRefused = "PGB-CFG-034";
inline constexpr std::string_view kSqlstateRisky = "PGB-CFG-035";
inline constexpr std::string_view kPins = "PGB-CFG-036";
inline constexpr std::string_view kTrust = "PGB-CFG-037";
inline constexpr std::string_view kDoor = "PGB-CFG-038";
inline constexpr std::string_view kSocketPath = "PGB-CFG-039";
inline constexpr std::string_view kSameAddress = "PGB-CFG-040";
inline constexpr std::string_view kBudgetOverPool = "PGB-CFG-041";
inline constexpr std::string_view kSumOverPool = "PGB-CFG-042";
inline constexpr std::string_view kFleet = "PGB-CFG-043";
inline constexpr std::string_view kUnusedQueue = "PGB-CFG-044";
inline constexpr std::string_view kUnreachable = "PGB-CFG-045";
inline constexpr std::string_view kNoDatabase = "PGB-CFG-046";
inline constexpr std::string_view kOpenAdmin = "PGB-CFG-047";
inline constexpr std::string_view kDrainDelay = "PGB-CFG-048";
inline constexpr std::string_view kUsersFile = "PGB-CFG-060";
inline constexpr std::string_view kMethodDoor = "PGB-CFG-061";
inline constexpr std::string_view kTlsFiles = "PGB-CFG-070";
inline constexpr std::string_view kTlsUnused = "PGB-CFG-071";

struct Entry {
    std::string_view code;
    std::string_view meaning;
};

/// Every code with its sentence, as config/README.md lists them.
inline constexpr std::array kAll{
    Entry{kUnreadable, "The file cannot be read."},
    Entry{kSyntax, "The text is not YAML, or not one document that holds a mapping."},
    Entry{kTooLarge,
          "The document is larger, deeper or has more values than a budgets file needs."},
    Entry{kAlias, "Anchors, aliases and tags of YAML are not part of the format."},
    Entry{kVariable, "A `${NAME}` is not set in the environment, or is not well formed."},
    Entry{kUnknownKey, "There is no such key here."},
    Entry{kDuplicateKey, "The key stands twice in one mapping."},
    Entry{kWrongType, "The value is of another type than the key takes."},
    Entry{kUnit, "A duration or size lacks its unit, or has one that does not exist."},
    Entry{kRange, "The value is outside the range of the key."},
    Entry{kUnknownWord, "The value is none of the words that the key takes."},
    Entry{kMalformed, "The value is of the right type and wrongly written."},
    Entry{kMissingKey, "A key that has no default is missing."},
    Entry{kNotBuilt, "The key belongs to a feature that is not built yet."},
    Entry{kDefaultLast, "The last workload, and only it, is named `default` and has no `match`."},
    Entry{kDuplicateName, "Two entries of one list have the same name."},
    Entry{kBadName, "A name has characters or words that would break what carries it."},
    Entry{kUnknownListener, "A `match` names a listener that is not in `listen`."},
    Entry{kSqlstateRefused, "Clients would misread a rejection with this SQLSTATE."},
    Entry{kSqlstateRisky, "Warning: some clients throw connections away on this SQLSTATE."},
    Entry{kPins, "Pins could take every backend of a pool."},
    Entry{kTrust, "`trust` would let in the network: it is for loopback and Unix sockets."},
    Entry{kDoor, "A listener has one door: either `address` or `unix_socket_dir`."},
    Entry{kSocketPath,
          "The path of the Unix socket is longer than the system takes, or not absolute."},
    Entry{kSameAddress, "Two doors have the same address."},
    Entry{kBudgetOverPool, "Warning: a workload has more permits than its pools have backends."},
    Entry{kSumOverPool, "Warning: the workloads of a pool have more permits than it has backends."},
    Entry{kFleet,
          "All instances together may open more connections than the database takes; "
          "`fleet.on_excess` says whether this is a warning."},
    Entry{kUnusedQueue, "Warning: `queue` and `queue_wait` do nothing without each other."},
    Entry{kUnreachable, "Warning: an earlier workload without conditions takes everything."},
    Entry{kNoDatabase, "Warning: no entry of `databases` serves what the workload matches."},
    Entry{kOpenAdmin, "Warning: `admin.http` can be reached from other machines."},
    Entry{kDrainDelay, "`drain.delay` lasts as long as `drain.timeout`, so nothing could finish."},
    Entry{kUsersFile, "`scram-sha-256` has no users file, or that or a user map cannot be used."},
    Entry{kMethodDoor, "The authentication method does not fit the door."},
    Entry{kTlsFiles, "TLS is for TCP, and needs a certificate and its key."},
    Entry{kTlsUnused, "Warning: a file of TLS is named where there is none."},
};

}  // namespace pgb::config::code
