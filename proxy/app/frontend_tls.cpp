// A frontend on its way from plain to TLS: the handshake, as far as the loop has to do with it, and
// what a door that demands TLS says to those who come without.

#include "protocol/sqlstate.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/app/tls_doors.h"
#include "proxy/io/socket_address.h"

namespace pgb {

void FrontendConnection::start_tls(std::string_view received) {
    // The one byte that was said before must not be kept for after the handshake.
    if (!output_.empty()) return die();
    link_.begin_tls(std::make_unique<TlsStream>(door_.tls->context.current()), received);
    go_on_with_handshake();
}

void FrontendConnection::go_on_with_handshake() {
    switch (link_.exchange()) {
        case ClientLink::Exchange::wait: return;
        case ClientLink::Exchange::calculate:
            server_.tls_doors().handshaker().advance(id_, link_.lend());
            return;
        case ClientLink::Exchange::open: handshake_is_over(); return;
        case ClientLink::Exchange::ended: break;
    }
    // A client that just goes, as a probe of the port does, has not failed at anything.
    if (const std::string_view why = link_.handshake_error(); !why.empty()) {
        server_.totals().tls_handshake_failures += 1;
        server_.log().debug("tls_handshake_failed", {{"client", peer_}, {"message", why}});
    }
    die();
}

void FrontendConnection::on_handshake(std::unique_ptr<TlsStream> stream, HandshakeStep step) {
    if (is_dead() || !link_.is_handshaking()) return;
    link_.take_back(std::move(stream), step);
    go_on_with_handshake();
}

void FrontendConnection::handshake_is_over() {
    server_.totals().tls_handshakes += 1;
    // Whoever did not ask in PostgreSQL's way must say that it is PostgreSQL that it wants, or a
    // request of another protocol might be taken for one of ours.
    if (!login_->may_go_on(link_.tls()->has_alpn())) {
        server_.totals().tls_handshake_failures += 1;
        server_.log().debug(
            "tls_handshake_failed",
            {{"client", peer_},
             {"message",
              "received direct SSL connection request without ALPN protocol negotiation"}});
        die();
        return;
    }
    reads_freely_ = false;
    update_reading();
}

void FrontendConnection::read_pending_later() {
    if (link_.has_pending()) server_.read_later(*this);
}

void FrontendConnection::read_pending() {
    if (is_dead() || eof_ || !link_.has_pending()) return;
    readable_ = true;
    server_.mark_ready(*this);
}

bool FrontendConnection::is_let_in() const {
    return door_.tls == nullptr || !door_.tls->is_required || link_.is_tls();
}

void FrontendConnection::refuse_plain() {
    const LoginRequest& request = login_->request();
    // PostgreSQL's words where every line of pg_hba.conf is `hostssl`; drivers try again by TLS on
    // this code.
    on_login_failed(
        sqlstate::kInvalidAuthorizationSpecification,
        "no pg_hba.conf entry for host \"" + std::string(address_host(peer_)) + "\", user \"" +
            request.user + "\", database \"" + request.database + "\", no encryption",
        {}, "listener \"" + door_.name + "\" of pgbulkhead takes this login by TLS only");
}

}  // namespace pgb
