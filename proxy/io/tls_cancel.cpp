#include "proxy/io/tls_cancel.h"

#include <libpq-fe.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "proxy/base/check.h"
#include "proxy/io/connect_plan.h"
#include "proxy/io/server_words.h"

namespace pgb {

namespace {

/// libpq's options about TLS and TCP; not its secrets but for the passphrase of a client's key.
bool is_of_use(std::string_view keyword) {
    return keyword.starts_with("ssl") || keyword.starts_with("keepalives") ||
           keyword == "tcp_user_timeout" || keyword == "user" || keyword == "dbname" ||
           keyword == "gssencmode";
}

bool may_fall_back(const ParameterList& options) {
    for (const auto& [keyword, value] : options) {
        if (keyword == "sslmode") return value == "prefer";
    }
    return false;
}

}  // namespace

std::shared_ptr<const ParameterList> tls_cancel_options(const ConnectOptions& options,
                                                        const pg_conn* connection) {
    if (PQsslInUse(const_cast<pg_conn*>(connection)) == 0) return nullptr;
    ConnectOptions kept;
    for (const auto& [keyword, value] : options.all()) {
        if (is_of_use(keyword)) kept.set(keyword, value);
    }
    // `allow` begins without TLS, and a server refuses no CancelRequest for that.
    if (kept.get("sslmode") == "allow") kept.set("sslmode", "prefer");
    kept.set("host", PQhost(connection));
    kept.set("hostaddr", PQhostaddr(connection));
    kept.set("port", PQport(connection));
    // No password is needed; without this libpq would look for one in ~/.pgpass.
    kept.set("passfile", "/dev/null/none");
    return std::make_shared<const ParameterList>(kept.all());
}

TlsCancel::TlsCancel(Loop& loop, const CancelTarget& target, End end)
    : loop_(loop), options_(target.tls), request_(cancel_request(target)), end_(std::move(end)) {}

TlsCancel::~TlsCancel() {
    socket_.reset();
    if (connection_ != nullptr) BackendLink(connection_).drop();
}

void TlsCancel::start() {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : *options_) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_ = PQconnectStartParams(keywords.data(), values.data(), 0);
    if (connection_ == nullptr) return finish(CancelOutcome::failed, "out of memory");
    if (PQstatus(connection_) == CONNECTION_BAD) return fail_with_libpq();
    wait_for(PQsocket(connection_), false, true);
}

void TlsCancel::wait_for(int fd, bool readable, bool writable) {
    socket_.emplace(loop_, fd, *this, FdOwner::borrowed);
    socket_->watch(readable, writable);
}

void TlsCancel::on_ready(bool, bool) {
    if (is_sent_) return read_to_end();
    poll();
}

void TlsCancel::poll() {
    // libpq may have another socket of the same number after this: as in ConnectAttempt.
    socket_.reset();
    const PostgresPollingStatusType polled = PQconnectPoll(connection_);
    const ConnStatusType status = PQstatus(connection_);
    if (polled == PGRES_POLLING_FAILED) return fail_with_libpq();
    was_negotiating_ = was_negotiating_ || status == CONNECTION_SSL_STARTUP;
    // The next call would send the startup packet.
    if (was_negotiating_ && status == CONNECTION_MADE) return send_request();
    wait_for(PQsocket(connection_), polled == PGRES_POLLING_READING,
             polled == PGRES_POLLING_WRITING);
}

void TlsCancel::send_request() {
    if (PQsslInUse(connection_) == 0 && !may_fall_back(*options_)) {
        return finish(CancelOutcome::failed, "the server has no TLS for the request");
    }
    link_ = BackendLink(std::exchange(connection_, nullptr));
    const std::string_view segments[] = {request_};
    const WriteResult written = link_.write(segments);
    // The first bytes behind a handshake always fit.
    if (written.count != request_.size()) {
        return finish(CancelOutcome::failed, std::generic_category().message(written.error));
    }
    is_sent_ = true;
    wait_for(link_.fd(), true, false);
}

void TlsCancel::read_to_end() {
    for (;;) {
        char ignored[256];
        const ReadResult read = link_.read(ignored);
        switch (read.status) {
            case IoStatus::bytes: continue;
            case IoStatus::would_block: return;
            case IoStatus::eof: return finish(CancelOutcome::closed, {});
            case IoStatus::error: break;
        }
        // Under TLS 1.3 a server refuses our certificate only after our part of the handshake.
        if (read.error == EPROTO) {
            return finish(CancelOutcome::failed, "the server ended the handshake with an alert");
        }
        return finish(CancelOutcome::closed, {});
    }
}

void TlsCancel::finish(CancelOutcome outcome, std::string why) {
    socket_.reset();
    link_.drop();
    if (connection_ != nullptr) BackendLink(std::exchange(connection_, nullptr)).drop();
    end_(outcome, std::move(why));
}

void TlsCancel::fail_with_libpq() {
    finish(CancelOutcome::failed, read_server_words(PQerrorMessage(connection_)).message);
}

}  // namespace pgb
