#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/gate/gate.h"
#include "proxy/pool/pool.h"
#include "proxy/session/session.h"
#include "tests/sim/books.h"
#include "tests/sim/client.h"
#include "tests/sim/dice.h"
#include "tests/sim/fake_postgres.h"

namespace pgb::sim {

struct Settings {
    std::uint64_t seed = 1;
    int steps = 4000;
    int seats = 6;
    std::uint32_t concurrency = 2;
    std::uint32_t queue = 2;
    std::uint32_t pool_size = 3;
    std::uint32_t cancel_once_in = 40;
    std::uint32_t leave_once_in = 150;
    std::uint32_t death_once_in = 3000;
    std::uint32_t stuck_once_in = 1000;  ///< a server that never answers again
    bool drains = false;
    bool residents = false;  ///< sessions have a backend for life, which they wait for first
    bool trace = false;
};

class World;

/// One backend: the connection between a fake PostgreSQL and whoever was lent it.
struct Link {
    Link(Books& books, Dice& dice, BackendId which) : server(books, dice), id(which) {}

    FakePostgres server;
    BackendId id;
    BackendBook book;
    class Seat* user = nullptr;
    std::string unseen;  ///< came from the server; the session has not taken it yet
    Permit permit;       ///< of a session that let go of it while its work may still run
    bool cancel_in_flight = false;
    bool cancel_struck = false;
    bool closing = false;
    bool dropped = false;  ///< no longer the proxy's: PostgreSQL may still be busy with it
    bool may_cancel = false;
    Instant cancel_at = Instant::never();
    Instant close_by = Instant::never();
};

/// One frontend connection as the driver keeps it: its places in the queues, its permit, its
/// backend, and the client at the other end.
class Seat : public Waiter, public PoolWaiter {
public:
    Seat(World& world, int number);
    ~Seat();

    void step();
    void carry_out();
    void pump();
    void on_settled(Settled& settled);
    void on_lent(Link& link);
    void on_refused(const PoolAction& action);
    void on_backend_bytes(std::string_view bytes, Link& link);
    void on_tick();
    void leave();
    void stop();
    void drain();
    [[nodiscard]] bool gone() const { return gone_; }
    [[nodiscard]] bool quiet() const;
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] Turn turn() const;
    Session& session() { return *session_; }
    Client& client() { return client_; }

private:
    friend class World;
    void carry_out(Decision decision);
    bool log_in();
    void accept(Link& link);
    void ask_permit(WorkloadIndex workload);
    void ask_backend();
    void ask_pin();
    void end_lease(Decision how);
    void flush_backend();
    void flush_frontend();
    void rest_if_it_may();
    void reset();
    [[nodiscard]] ShedFacts facts(ShedReason reason) const;

    World& world_;
    int number_;
    std::unique_ptr<Session> session_;
    Client client_;
    Link* link_ = nullptr;
    Permit permit_;
    WorkloadIndex workload_ = 0;  ///< in the pool: of the sessions' work, or of housekeeping
    std::string input_;
    std::string to_client_;
    bool logged_in_ = false;
    bool eof_ = false;
    bool deaf_ = false;  ///< its connection broke: it neither reads nor writes
    bool close_when_flushed_ = false;
    bool gone_ = false;
};

/// The proxy without its sockets: the real Session, Gate and Pool, driven as the driver does it, in
/// front of fake servers, with every message cut at random and every order of events possible.
class World {
public:
    explicit World(const Settings& settings);
    ~World();

    /// Runs to the end and returns what was broken; empty: nothing.
    std::vector<std::string> run();

private:
    friend class Seat;
    void turn();
    void end_turn();
    void tick_links();
    void step_link(Link& link);
    void carry_out(Pool::Actions& actions);
    void begin_close(Link& link, Permit permit, Instant cancel_at, bool may_cancel);
    void send_cancel(Link& link);
    void close_cancel(Link& link);
    void link_ended(Link& link);
    void drop_link(Link& link);
    void orphan(Link& link, Permit permit);
    void forget_settled(Seat& seat);
    void check();
    void check_end();
    Link* find(BackendId id);
    [[nodiscard]] bool settled() const;
    void note(const std::string& what);

    Settings settings_;
    Dice dice_;
    Books books_;
    StateTracking tracking_;
    SessionTables tables_;
    StatementRegistry statements_;
    Instant now_{std::chrono::seconds(1)};
    Gate gate_;
    LaneId lane_{};
    LaneId house_lane_{};
    Pool pool_;
    GroupId group_{};
    LeaseRules rules_;
    Outbox out_;
    std::vector<Settled> settled_;
    std::vector<Settled> settling_;
    Pool::Actions actions_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<std::unique_ptr<Link>> outlived_;  // dropped, and perhaps busy
    struct Connecting {
        BackendId id;
        Instant at;
    };
    std::vector<Connecting> connecting_;
    struct Orphan {
        BackendId id;
        Permit permit;
        Instant until;
    };
    std::vector<Orphan> orphans_;
    std::vector<std::unique_ptr<Seat>> seats_;
    Instant next_tick_;
    int next_session_ = 1;
    int distrusted_ = 0;  // backends closed under a client that was still there
    bool ending_ = false;
    bool over_admission_possible_ = false;
};

}  // namespace pgb::sim
