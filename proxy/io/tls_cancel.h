#pragma once

#include <memory>
#include <optional>
#include <string>

#include "proxy/io/backend_link.h"
#include "proxy/io/cancel_errand.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

struct pg_conn;

namespace pgb {

class ConnectOptions;

/// A CancelRequest to a backend whose own connection is TLS. libpq connects and negotiates exactly
/// as it did for that connection (verification, client certificate, revocation lists, versions) and
/// is stopped in front of the startup packet, in whose place the request goes.
///
///     POLLING --CONNECTION_MADE after CONNECTION_SSL_STARTUP--> SENT --the server ends--> closed
///        |                                                        |
///        '--refused, no TLS to be had--> failed                   '--a TLS alert--> failed
///
/// Invariant: nothing of the request is written to a connection without TLS unless `sslmode` is
/// `prefer`; then libpq falls back as PQcancelStart of libpq 17 does. A server that says more
/// than `S`, or an error, in answer to the SSLRequest is libpq's to refuse.
class TlsCancel final : public CancelErrand, public SocketEvents {
public:
    /// Needs target.tls.
    TlsCancel(Loop& loop, const CancelTarget& target, End end);
    ~TlsCancel() override;

    void start() override;
    [[nodiscard]] bool may_have_arrived() const override { return is_sent_; }

private:
    void on_ready(bool readable, bool writable) override;
    void poll();
    void wait_for(int fd, bool readable, bool writable);
    void send_request();
    void read_to_end();
    void finish(CancelOutcome outcome, std::string why);
    void fail_with_libpq();

    Loop& loop_;
    std::shared_ptr<const ParameterList> options_;
    std::string request_;
    End end_;
    pg_conn* connection_ = nullptr;
    BackendLink link_;
    // Behind the link, which closes the descriptor that this one watches.
    std::optional<Socket> socket_;
    bool was_negotiating_ = false;
    bool is_sent_ = false;
};

/// What a TlsCancel needs of the options that a connection was made with: no password, no database
/// session, and the one address that was reached. Null for a connection without TLS.
[[nodiscard]] std::shared_ptr<const ParameterList> tls_cancel_options(const ConnectOptions& options,
                                                                      const pg_conn* connection);

}  // namespace pgb
