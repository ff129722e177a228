// The end of a login: the greeting, and with `pooling: session` the wait for the backend that is the
// session's from then on. Everything here belongs to FrontendConnection.

#include "protocol/sqlstate.h"
#include "proxy/app/backend_connection.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/io/random.h"

namespace pgb {

namespace {
// libpq ignores keys that are not 4 bytes when it speaks 3.0; newer versions may have more, and 32
// is what PostgreSQL 18 itself sends.
constexpr std::size_t kKeyBytes = 4;
constexpr std::size_t kLongKeyBytes = 32;
}  // namespace

bool FrontendConnection::awaits_backend() const {
    if (phase_ == FrontendPhase::login) return is_authenticated_;
    return session_.state() == SessionState::waiting_backend;
}

void FrontendConnection::on_greeting() {
    // A resident's has begun with its backend.
    if (!session_.is_awake()) begin_session();
    std::uint32_t seed = 0;
    fill_random({reinterpret_cast<char*>(&seed), sizeof seed});
    std::string key = new_cancel_key();
    pid_ = server_.cancel_keys().issue(id_, key, seed);
    greet(key);
}

std::string FrontendConnection::new_cancel_key() const {
    return random_bytes(login_->request().protocol_minor >= 2 ? kLongKeyBytes : kKeyBytes);
}

void FrontendConnection::begin_session() {
    SessionSeed seed{.told = {},
                     .unset = &database_->unset_values(group_),
                     .origin = database_->origin(group_),
                     .last_activity = server_.now()};
    for (const auto& [name, value] : database_->greeting(group_)) seed.told.set(name, value);
    // Thousands of clients are told the same.
    (void)seed.told.joins(*seed.unset);
    session_.begin(std::move(seed));
}

void FrontendConnection::greet(std::string_view key) {
    Outbox& out = server_.outbox();
    std::string& reply = out.scratch();
    append_greeting(reply, database_->greeting(group_), pid_, key);
    remember_login();
    server_.login_finished(*this);
    login_.reset();
    phase_ = FrontendPhase::session;
    server_.idle_watch().add(id_, server_.now());
    out.to_frontend(reply);
    carry_out();
    // What came early is taken by whoever reads or pumps next; nothing here calls back into the
    // reading of bytes that led to this greeting.
    if (!is_dead() && !input_.empty()) server_.mark_ready(*this);
}

void FrontendConnection::become_resident(BackendConnection& backend) {
    server_.times(workload_).pool_wait.record(server_.now() - PoolWaiter::asked());
    Pool& pool = database_->pool();
    backend_ = &backend;
    backend.attach(*this);
    pool.add_resident();
    pool.keep(backend.id());
    begin_session();
    session_->become_resident(backend.book(), database_->lease_rules(workload_));
    // The process id is the server's own, as for a direct connection: programs look for it in
    // pg_stat_activity and ask pg_blocking_pids() about it. A server that has told none has no
    // CancelRequest either.
    if (backend.pid() == 0) {
        on_greeting();
        return;
    }
    pid_ = static_cast<std::int32_t>(backend.pid());
    const std::string key = new_cancel_key();
    server_.cancel_keys().issue_as(pid_, id_, key);
    greet(key);
}

void FrontendConnection::drop_pin() {
    if (pooling_ == config::Pooling::session) {
        database_->pool().remove_resident();
    } else {
        database_->pool().drop_pin(static_cast<WorkloadIndex>(pin_workload_));
    }
}

void FrontendConnection::refuse_login(const PoolAction& action) {
    if (action.trouble == nullptr) {
        on_login_failed(sqlstate::kTooManyConnections,
                        "sorry, too many clients already: no backend came free in time");
        return;
    }
    const ConnectTrouble& trouble = *action.trouble;
    on_login_failed(trouble.sqlstate.empty() ? sqlstate::kConnectionFailure
                                             : std::string_view(trouble.sqlstate),
                    trouble.message, trouble.detail, trouble.hint);
}

}  // namespace pgb
