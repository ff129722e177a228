#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/admin/console/session.h"
#include "proxy/admin/console/views.h"
#include "proxy/session/login.h"

namespace pgb {

class Database;
class FrontendConnection;
class Server;

/// The sessions of the console, and what their commands do. A client whose database is
/// `admin.console_database` logs in as its door demands, and from then on neither the gate nor a pool
/// has anything to do with it: it gets in and is served while every budget is full and PostgreSQL is
/// down (by passthrough not: PostgreSQL must prove the password).
///
/// A command is answered at once, but for PAUSE, whose answer comes from look(). On the loop's thread
/// only.
class Consoles {
public:
    /// Beyond limits.max_clients, so that who is called in a flood of clients gets in.
    static constexpr std::size_t kPlaces = 8;
    /// Of these: kept for those who may change things, however many look.
    static constexpr std::size_t kPlacesKept = 2;

    explicit Consoles(Server& server) : server_(server) {}

    [[nodiscard]] bool serves(std::string_view database) const;
    [[nodiscard]] bool has_place() const { return desks_.size() < kPlaces; }
    [[nodiscard]] bool has_place_for(const std::string& user, bool is_authenticated) const {
        return desks_.size() + (may_change(user, is_authenticated) ? 0 : kPlacesKept) < kPlaces;
    }
    [[nodiscard]] std::size_t size() const { return desks_.size(); }
    /// By passthrough its password is proved where the first entry of `databases` leads.
    void aim_proof(LoginRequest& request) const;

    void begin(std::uint64_t id, const std::string& user, bool is_authenticated);
    /// Also what it was waiting for.
    void end(std::uint64_t id);
    [[nodiscard]] ConsoleSession& session(std::uint64_t id) { return desks_.at(id).session; }
    [[nodiscard]] const std::string& user(std::uint64_t id) const { return desks_.at(id).user; }
    /// A command was begun whose answer comes later.
    [[nodiscard]] bool is_waiting(std::uint64_t id) const { return desks_.at(id).waits(); }

    /// Carries a command out; nothing: on_console_answer() follows. May end any client's session,
    /// also this one.
    std::optional<ConsoleReply> carry_out(const FrontendConnection& by, ConsoleCommand command);
    /// What it waits for is given up.
    void cancel(std::uint64_t id);
    /// Once in each turn: answers that are due.
    void look();

private:
    struct Desk {
        ConsoleSession session;
        std::string user;
        bool may_change = false;
        std::vector<Database*> pausing = {};      // all that it waits for
        std::vector<Database*> paused_here = {};  // those that were not paused before

        [[nodiscard]] bool waits() const { return !pausing.empty(); }
    };

    [[nodiscard]] bool may_change(const std::string& user, bool is_authenticated) const;
    std::optional<ConsoleReply> change(const FrontendConnection& by, const ConsoleCommand& command);
    [[nodiscard]] ConsoleReply refuse_change(const Desk& desk) const;
    ConsoleReply set_workload(const Desk& desk, const ConsoleCommand& command);
    std::optional<ConsoleReply> pause(Desk& desk, const ConsoleCommand& command);
    ConsoleReply resume(const ConsoleCommand& command);
    ConsoleReply reload();
    ConsoleReply drain();
    ConsoleReply end_client(const ConsoleCommand& command);
    [[nodiscard]] std::vector<Database*> databases_named(const std::string& name) const;
    [[nodiscard]] ConsoleReply no_such_database(const std::string& name) const;
    static void undo_pause(Desk& desk);

    // console_views.cpp
    [[nodiscard]] ConsoleReply show(ConsoleView view) const;
    [[nodiscard]] std::vector<Row> clients() const;
    [[nodiscard]] std::vector<Row> waiters() const;
    [[nodiscard]] std::vector<Row> pins() const;
    [[nodiscard]] std::vector<Row> backends() const;
    [[nodiscard]] std::vector<Row> configuration() const;
    [[nodiscard]] ConsoleExtras extras() const;

    Server& server_;
    std::map<std::uint64_t, Desk> desks_;
    bool drain_asked_ = false;
};

}  // namespace pgb
