#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/books.h"
#include "tests/sim/dice.h"

namespace pgb::sim {

/// A client with a random program. It writes units (each a Query, a FunctionCall, or a batch up to
/// its Sync), pipelines them, and checks each reply: its own, in order, each unit ended by its
/// ReadyForQuery. A COPY with Syncs inside may bring more than one; what comes behind such a unit is
/// checked within the range that it leaves open.
class Client {
public:
    /// `begin_holds`: what stands behind a BEGIN never runs without it. Not so where BEGIN goes to
    /// PostgreSQL as it is: cancelled in a pipeline, it lets the next statement run alone.
    Client(int session, Books& books, Dice& dice, bool begin_holds)
        : session_(session), books_(books), dice_(dice), begin_holds_(begin_holds) {}

    /// Adds something to what is to be sent, if its pipeline is not too long.
    void act();
    /// Ends what it has begun, so that a run can end: closes COPY, sends the Sync it owes.
    void finish();
    /// Bytes to be sent, from the front.
    [[nodiscard]] std::string take(std::size_t most);
    [[nodiscard]] bool wants_to_send() const { return !wire_.empty(); }
    void receive(std::string_view bytes);
    /// Everything it sent was answered, as far as can be known.
    [[nodiscard]] bool answered() const;
    [[nodiscard]] bool told_goodbye() const { return fatal_; }
    /// Its program is over: nothing more is begun.
    void stop() { stopped_ = true; }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] std::string name() const { return "s" + std::to_string(session_); }
    [[nodiscard]] std::uint64_t units() const { return units_.size(); }
    /// Nothing of it is on its way anywhere: what the last unit brought is all that it brings.
    void on_quiet();

private:
    struct Unit {
        std::string what;
        std::string expected;  ///< reply types up to an error, without ReadyForQuery
        std::string got;
        int ready_min = 1;
        int ready_max = 1;
        bool strict = true;  ///< the replies are exactly `expected`, or a beginning of it and E
        std::string insert;  ///< its one INSERT, stored for certain if the answer says so
        std::string makes;   ///< the name of the statement that its Parse makes
        std::string needs;   ///< the name of a statement that the session has
        std::string sets;    ///< what application_name is when it succeeds: a tag, or "none"
        bool commits_block = false;
        int block = 0;
    };
    enum class Copy { none, awaits_go, sending };

    Unit& begin_unit(std::string what, std::string expected);
    std::string tag();
    void message(char type, std::string_view body);
    void query(const std::string& text) { message('Q', text + std::string(1, '\0')); }
    void parse(const std::string& name, const std::string& text);
    void bind(const std::string& name, const std::string& value = {});
    void describe_portal();
    void act_ping();
    void run_statement(const std::string& text, bool describe);
    void sync() { message('S', ""); }
    /// When everything up to here was sent, `inserts` may be stored.
    void may_commit_here(std::vector<std::string> inserts);
    std::string insert_text(bool never_commits = false);
    void close_transaction_unit();

    void act_simple();
    void act_batch();
    void act_block();
    void act_odd();
    void act_named();
    void act_state();
    void act_copy();
    void continue_copy();
    void on_message(char type, std::string_view body);
    void on_ready();
    void check_unit(const Unit& unit);
    void note_name(const Unit& unit, std::size_t number);
    void check_row(std::string_view body);
    void check_setting(const Unit& unit, const std::string& shown);
    [[nodiscard]] std::size_t head() const;

    int session_;
    Books& books_;
    Dice& dice_;
    bool begin_holds_;
    std::string wire_;
    std::string incoming_;
    std::uint64_t queued_ = 0;  // bytes ever put on the wire
    std::uint64_t sent_ = 0;    // bytes ever taken from it
    struct Closing {
        std::uint64_t at;
        std::vector<std::string> inserts;
    };
    std::vector<Closing> closings_;
    std::vector<Unit> units_;
    std::vector<std::string> open_inserts_;   // since the last point that may commit
    std::vector<std::string> stored_claims_;  // INSERTs of the block that were answered
    std::string setting_ = "none";
    std::string block_setting_;  // set in the block of this number, kept by its COMMIT
    int setting_block_ = 0;
    bool setting_is_sure_ = true;  // no answer was lost that would have told
    int ready_seen_ = 0;
    int next_tag_ = 1;  // u0n0 stands for a statement that any later unit may run
    int names_ = 0;
    struct Name {
        std::size_t unit;  ///< whose Parse makes it
        bool made;         ///< it was answered, and nothing that drops it was sent
    };
    std::map<std::string, Name> known_;
    bool unnamed_known_ = false;
    bool in_block_ = false;
    int block_ = 0;
    bool block_is_sure_ = true;  // no server could do what was sent and not be in it
    Copy copy_ = Copy::none;
    bool copy_extended_ = false;
    bool owes_sync_ = false;
    bool stopped_ = false;
    bool fatal_ = false;
};

}  // namespace pgb::sim
