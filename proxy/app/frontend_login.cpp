// A frontend before its session: the startup packet, the pool's greeting, and the CancelRequests that
// come in place of a session.

#include "protocol/sqlstate.h"
#include "protocol/startup.h"
#include "proxy/app/backend_connection.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

void FrontendConnection::login_timed_out() {
    server_.totals().auth_failures += 1;
    die();
}

std::size_t FrontendConnection::feed_login(std::string_view view) {
    if (is_ending()) return view.size();
    if (is_authenticated_) {
        // Nothing need be sent before the greeting; what is, waits for it within a bound.
        if (view.size() > kEarlyInputMax) die();
        return is_dead() ? view.size() : 0;
    }
    if (authenticating_ != nullptr) return feed_authentication(view);
    std::size_t used = 0;
    std::string& reply = server_.outbox().scratch();
    LoginStep step = LoginStep::need_more;
    while (step == LoginStep::need_more) {
        std::size_t consumed = 0;
        step = login_->on_bytes(view.substr(used), consumed, reply);
        used += consumed;
        if (consumed == 0) break;
    }
    say(reply);
    if (is_dead()) return view.size();
    switch (step) {
        case LoginStep::need_more: return used;
        case LoginStep::tls: start_tls(view.substr(used)); return view.size();
        case LoginStep::refused:
            server_.totals().auth_failures += 1;
            close_soon();
            return view.size();
        case LoginStep::cancel: start_cancel(); return view.size();
        case LoginStep::startup:
            if (!is_let_in()) {
                refuse_plain();
                return view.size();
            }
            begin_authentication();
            break;
    }
    return authenticating_ == nullptr ? used : used + feed_authentication(view.substr(used));
}

void FrontendConnection::begin_login() {
    if (is_for_console()) {
        begin_console();
        return;
    }
    const LoginRequest& request = login_->request();
    is_authenticated_ = true;
    const std::unique_ptr<Authenticating> authenticating = std::move(authenticating_);
    database_ = server_.database_for(request.database);
    if (database_ == nullptr) {
        on_login_failed(sqlstate::kInvalidCatalogName,
                        "database \"" + request.database + "\" does not exist");
        return;
    }
    workload_ = workload_at_login();
    pooling_ = server_.config().workloads[workload_].pooling;
    group_ = database_->join(request, pooling_);
    if (authenticating != nullptr && authenticating->proof != nullptr) {
        database_->adopt(group_, std::move(*authenticating->proof));
    }
    Pool::Actions actions;
    if (pooling_ == config::Pooling::session) {
        database_->pool().ask(*this, group_, workload_index(), server_.now(), actions);
    } else {
        database_->pool().ask_login(*this, group_, server_.now(), actions);
    }
    database_->carry_out(actions);
}

void FrontendConnection::on_login_failed(std::string_view sqlstate, std::string_view message,
                                         std::string_view detail, std::string_view hint) {
    std::string& reply = server_.outbox().scratch();
    // PostgreSQL lets in first and then finds that the database is not there, or that it is full; from
    // a refusal without AuthenticationOk a driver concludes that another way of logging in might do.
    if (is_authenticated_ && sqlstate::sqlstate_class(sqlstate) != "28") {
        append_authentication_ok(reply);
    }
    append_fatal(reply, sqlstate, message, detail, hint);
    end_login_with(reply);
}

void FrontendConnection::end_login_with(const std::string& last_word) {
    server_.totals().auth_failures += 1;
    say(last_word);
    if (!is_dead()) close_soon();
}

void FrontendConnection::start_cancel() {
    server_.totals().cancel_requests += 1;
    const auto session = server_.cancel_keys().find(login_->cancel_pid(), login_->cancel_key());
    server_.login_finished(*this);
    phase_ = FrontendPhase::cancelling;
    FrontendConnection* target = session ? server_.find_frontend(*session) : nullptr;
    if (target == nullptr || target->is_dead()) {
        die();
        return;
    }
    target->on_cancel_request();
    // The client's library waits for this connection's end before it believes in the cancel.
    if (BackendConnection* backend = target->backend();
        backend != nullptr && backend->has_cancel_in_flight()) {
        backend->await_cancel(id_);
    } else {
        die();
    }
}

}  // namespace pgb
