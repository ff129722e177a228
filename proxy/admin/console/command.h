#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/transaction_statement.h"
#include "proxy/admin/console/table.h"

namespace pgb {

enum class ConsoleView : std::uint8_t {
    workloads,
    holders,
    waiters,
    pools,
    backends,
    clients,
    pins,
    stats,
    config,
    version,
    help,
};

enum class ConsoleVerb : std::uint8_t {
    // Answered by the console's session itself.
    nothing,      ///< blanks, comments and semicolons only
    transaction,  ///< BEGIN and friends, which drivers send unasked; nothing here is undone by them
    accepted,     ///< SET, RESET, DISCARD and the like: taken, and without an effect
    constant,     ///< one row of one column, which drivers ask for: SELECT 1, SHOW server_version
    // Asked of whoever owns the session.
    show,
    set_workload,
    pause,
    resume,
    reload,
    drain,
    kill,
    cancel,
};

/// One statement, understood.
struct ConsoleCommand {
    ConsoleVerb verb = ConsoleVerb::nothing;
    ConsoleView view = ConsoleView::help;                          ///< of show
    TransactionVerb transaction = TransactionVerb::none;           ///< of transaction
    std::string tag = {};                                          ///< of CommandComplete
    std::vector<Column> columns = {};                              ///< none: it returns no rows
    Cell value = {};                                               ///< of constant
    std::string name = {};                                         ///< a workload's or a database's
    std::uint64_t client = 0;                                      ///< of kill and cancel
    std::vector<std::pair<std::string, std::string>> values = {};  ///< of set_workload

    /// Only who was authenticated and is a console user may do it.
    [[nodiscard]] bool changes_something() const { return verb >= ConsoleVerb::set_workload; }
};

/// An error for the wire.
struct ConsoleFault {
    std::string sqlstate;
    std::string message;
    std::string detail = {};
    std::string hint = {};
};

/// The candidate that a word was probably meant to be, or empty.
using Suggest = std::string (*)(std::string_view word,
                                std::span<const std::string_view> candidates);

/// What a text holds: its statements, without the empty ones, or what is wrong with it.
struct ConsoleScript {
    std::vector<ConsoleCommand> commands = {};
    std::optional<ConsoleFault> fault = {};
};

/// Keywords in any case; names and values as written, in quotes of either kind where they have other
/// bytes than letters, digits, `_`, `.` and `-`. A mistake anywhere refuses the whole text. Pure.
[[nodiscard]] ConsoleScript parse_console(std::string_view text, Suggest suggest);

/// The columns of a view.
[[nodiscard]] Columns columns_of(ConsoleView view);

/// What drivers ask for and the console answers by itself: settings by SHOW (nothing: no such one),
/// and expressions by SELECT, in lower case without blanks.
[[nodiscard]] std::optional<std::string> setting_value(std::string_view name);
[[nodiscard]] std::optional<std::pair<Column, Cell>> selected_value(std::string_view expression);

/// Every command with what it does, for SHOW HELP.
struct ConsoleHelp {
    std::string_view command;
    std::string_view meaning;
};
[[nodiscard]] std::span<const ConsoleHelp> console_help();

}  // namespace pgb
