// The workload of each transaction. What a rule looks at is given by the login, but for
// application_name, which a session may SET. Everything here belongs to FrontendConnection.

#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

namespace {
constexpr std::string_view kApplicationName = "application_name";
}  // namespace

void FrontendConnection::remember_login() {
    if (!server_.looks_at_application_name() || pooling() == config::Pooling::session) return;
    who_ = std::make_unique<LoginRequest>(login_->request());
    who_->parameters.clear();
    name_at_login_ = session_.told(kApplicationName);
    name_ = name_at_login_;
}

// What the session holds was counted for its workload: that stays until it holds nothing. How it is
// pooled was decided by its login.
void FrontendConnection::choose_workload() {
    if (who_ == nullptr || backend_ != nullptr) return;
    const std::string_view told = session_.told(kApplicationName);
    if (told == name_) return;
    name_ = told;
    const std::string_view name = name_ == name_at_login_ ? who_->application_name : name_;
    const std::size_t workload = server_.workload_of(*who_, name, door_, peer_);
    if (server_.config().workloads[workload].pooling == pooling()) workload_ = workload;
}

}  // namespace pgb
