#include "proxy/io/connect_attempt.h"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/login_guard.h"
#include "proxy/io/server_words.h"
#include "proxy/io/tls_cancel.h"

namespace pgb {

namespace {

// What PostgreSQL 13 to 18 reports by ParameterStatus at login, in the order of its manual; libpq
// answers for a name only.
constexpr std::array kReported = {
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "scram_iterations",
    "search_path",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
};

// Reads after login; a server that still talks then has something to say that is not ours to skip.
constexpr int kSettleReadsMax = 16;
// For the rest of a message: short beside a login, long beside the time a look takes.
constexpr Duration kLookAgain = std::chrono::milliseconds(2);

std::string milliseconds(Duration duration) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

ConnectAttempt::ConnectAttempt(Loop& loop, ConnectRequest request, Finish finish)
    : loop_(loop),
      request_(std::move(request)),
      finish_(std::move(finish)),
      timer_(loop, [this] { on_timer(); }),
      look_again_(loop, [this] { look_and_poll(); }) {}

ConnectAttempt::~ConnectAttempt() { stop(); }

void ConnectAttempt::start() {
    deadline_ = loop_.now() + request_.timeout;
    auto planned = plan_connect(request_);
    if (!planned.ok()) return fail(std::move(planned.error()));
    options_ = std::move(planned.value());
    request_.password = Secret();
    hosts_ = hosts_of(options_);
    slice_ = request_.timeout;
    arm_timer();
    start_lookups();
}

void ConnectAttempt::start_lookups() {
    answers_.resize(hosts_.size());
    lookups_.resize(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (!hosts_[i].needs_lookup()) continue;
        lookups_[i] = std::make_unique<NameLookup>(
            [this, i](NameLookup::Answer answer) { on_lookup(i, std::move(answer)); });
        if (auto reason = lookups_[i]->start(loop_, hosts_[i].host)) {
            fail_lookup(i, *reason);
        } else {
            ++lookups_left_;
        }
    }
    if (lookups_left_ == 0) open();
}

void ConnectAttempt::on_lookup(std::size_t host, NameLookup::Answer answer) {
    if (finished_) return;
    if (answer.addresses.empty()) fail_lookup(host, answer.error);
    answers_[host] = std::move(answer);
    if (--lookups_left_ == 0) open();
}

void ConnectAttempt::fail_lookup(std::size_t host, const std::string& reason) {
    lookup_complaint_ =
        "could not translate host name \"" + hosts_[host].host + "\" to address: " + reason;
}

/// Every address of a name becomes a host of its own, so that libpq resolves nothing and still
/// knows the name that certificates and the password file go by.
void ConnectAttempt::open() {
    std::vector<ConnectHost> places;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (lookups_[i] == nullptr) {
            places.push_back(hosts_[i]);
            continue;
        }
        for (const std::string& address : answers_[i].addresses) {
            places.push_back({hosts_[i].host, address, hosts_[i].port});
        }
    }
    if (places.empty()) {
        ConnectFailure failure;
        failure.message = lookup_complaint_;
        return fail(std::move(failure));
    }
    set_hosts(options_, places);
    slice_ = request_.timeout / static_cast<std::int64_t>(places.size());
    hosts_ = std::move(places);

    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : options_.all()) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_ = PQconnectStartParams(keywords.data(), values.data(), 0);
    // libpq has its own copy, which it overwrites when the connection ends.
    options_.wipe_password();
    if (connection_ == nullptr) {
        ConnectFailure failure;
        failure.message = "out of memory";
        return fail(std::move(failure));
    }
    // The SQLSTATE of a refusal is in libpq's text and nowhere else, and only at this verbosity.
    PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
    PQsetNoticeReceiver(connection_, on_notice, this);
    trace_.attach(connection_);
    if (PQstatus(connection_) == CONNECTION_BAD) return fail_with_libpq();
    arm_timer();
    wait_for(false, true);
}

void ConnectAttempt::wait_for(bool readable, bool writable) {
    // Emplaced anew for each call of PQconnectPoll, see poll().
    socket_.emplace(loop_, PQsocket(connection_), *this, FdOwner::borrowed);
    socket_->watch(readable, writable);
}

void ConnectAttempt::on_ready(bool, bool) { look_and_poll(); }

// libpq answers what it reads at once, however long that takes.
void ConnectAttempt::look_and_poll() {
    if (PQstatus(connection_) != CONNECTION_AWAITING_RESPONSE) return poll();
    switch (look_at_login(connection_)) {
        case LoginBytes::fine: return poll();
        case LoginBytes::incomplete:
            // What has come would be told again and again.
            socket_.reset();
            return look_again_.arm(loop_.now() + kLookAgain);
        case LoginBytes::too_dear: break;
    }
    ConnectFailure failure;
    failure.message = "the server asks for too many rounds of hashing (SCRAM)";
    fail(std::move(failure));
}

void ConnectAttempt::poll() {
    // libpq may close its socket and open another inside PQconnectPoll, and the kernel hands out
    // the same number again. Comparing PQsocket() before and after proves nothing: stop watching
    // before the call, start after it.
    socket_.reset();
    switch (PQconnectPoll(connection_)) {
        case PGRES_POLLING_READING: return wait_for(true, false);
        case PGRES_POLLING_WRITING: return wait_for(false, true);
        case PGRES_POLLING_OK: return succeed();
        case PGRES_POLLING_FAILED:
        case PGRES_POLLING_ACTIVE: return fail_with_libpq();
    }
}

void ConnectAttempt::arm_timer() { timer_.arm(std::min(deadline_, loop_.now() + slice_)); }

bool ConnectAttempt::is_at_last_address() const {
    const ConnectHost& last = hosts_.back();
    const char* address = PQhostaddr(connection_);
    const char* host = PQhost(connection_);
    const char* port = PQport(connection_);
    return (last.hostaddr.empty() ? last.host == host : last.hostaddr == address) &&
           last.port == port;
}

void ConnectAttempt::on_timer() {
    if (finished_) return;
    const bool connecting = connection_ != nullptr && PQstatus(connection_) == CONNECTION_STARTED;
    if (loop_.now() < deadline_) {
        // libpq waits for an address that swallows packets as long as the kernel does. Shutting the
        // socket down fails this connect only, and libpq goes on to the next address.
        if (connecting && !is_at_last_address()) (void)shutdown(PQsocket(connection_), SHUT_RDWR);
        arm_timer();
        return;
    }
    ConnectFailure failure;
    failure.timed_out = true;
    failure.message = "no login within " + milliseconds(request_.timeout);
    failure.message += connection_ == nullptr ? ": the host name was not resolved"
                       : connecting           ? ": the server did not accept the connection"
                                              : ": the server did not answer";
    fail(std::move(failure));
}

void ConnectAttempt::on_notice(void* attempt, const PGresult* notice) {
    auto& self = *static_cast<ConnectAttempt*>(attempt);
    const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char* code = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    const std::string_view word = severity != nullptr ? severity : "";
    // Warnings and the like are for a person who logs in. An error after the first ReadyForQuery
    // reaches us as a notice, and so does libpq's own complaint about a message that it does not
    // expect, which has no code.
    if (code != nullptr && word != "ERROR" && word != "FATAL" && word != "PANIC") return;
    const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    self.bad_notice_.message = text != nullptr ? text : PQresultErrorMessage(notice);
    self.bad_notice_.sqlstate = code != nullptr ? code : "";
    self.bad_notice_.from_server = code != nullptr;
}

/// After CONNECTION_OK: nothing may be left in libpq, which is asked to read what has come.
std::optional<ConnectFailure> ConnectAttempt::settle() {
    for (int reads = 0; reads < kSettleReadsMax; ++reads) {
        if (PQconsumeInput(connection_) == 0) break;
        // Parses what was read: notices, parameters.
        const bool busy = PQisBusy(connection_) != 0;
        if (!bad_notice_.message.empty()) return bad_notice_;
        if (busy || PQstatus(connection_) != CONNECTION_OK) break;
        if (PGnotify* notification = PQnotifies(connection_); notification != nullptr) {
            PQfreemem(notification);
            break;
        }
        char byte = 0;
        const ssize_t more = recv(PQsocket(connection_), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (more < 0) return std::nullopt;
        if (more == 0) break;
    }
    ConnectFailure failure;
    failure.message = "the server closed or said more than it should right after login";
    return failure;
}

void ConnectAttempt::succeed() {
    if (auto failure = settle()) return fail(std::move(*failure));
    if (PQsslInUse(connection_) != 0 && PQsslStruct(connection_, "OpenSSL") == nullptr) {
        ConnectFailure failure;
        failure.message = "this libpq's TLS is not OpenSSL's: its connections cannot be taken over";
        return fail(std::move(failure));
    }
    trace_.detach(connection_);
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);

    ConnectedBackend backend;
    backend.id = request_.id;
    backend.used_password = PQconnectionUsedPassword(connection_) != 0;
    for (const char* name : kReported) {
        if (const char* value = PQparameterStatus(connection_, name); value != nullptr) {
            backend.parameters.emplace_back(name, value);
        }
    }
    if (const char* version = PQparameterStatus(connection_, "server_version")) {
        backend.server_version = version;
    }
    auto cancel_tls = tls_cancel_options(options_, connection_);
    backend.link = BackendLink(std::exchange(connection_, nullptr));
    backend.link.set_cancel_tls(std::move(cancel_tls));
    if (backend.link.has_pending()) {
        ConnectFailure failure;
        failure.message = "the server said more after login than it should";
        return fail(std::move(failure));
    }
    backend.link.set_cancel_key(trace_.key_of(backend.link.pid()));
    finished_ = true;
    stop();
    finish_(*this, std::move(backend));
}

void ConnectAttempt::fail_with_libpq() {
    ServerWords words = read_server_words(PQerrorMessage(connection_));
    ConnectFailure failure;
    failure.from_server = !words.sqlstate.empty();
    failure.sqlstate = std::move(words.sqlstate);
    failure.message = std::move(words.message);
    // Nothing was asked of the server, but it would have said so.
    if (PQconnectionNeedsPassword(connection_) != 0) failure.sqlstate = "28P01";
    failure.detail = std::move(words.detail);
    failure.hint = std::move(words.hint);
    fail(std::move(failure));
}

void ConnectAttempt::fail(ConnectFailure failure) {
    PGB_CHECK(!finished_);
    finished_ = true;
    stop();
    failure.id = request_.id;
    std::replace(failure.message.begin(), failure.message.end(), '\n', ' ');
    finish_(*this, std::move(failure));
}

void ConnectAttempt::stop() {
    timer_.disarm();
    look_again_.disarm();
    socket_.reset();
    if (connection_ == nullptr) return;
    trace_.detach(connection_);
    // Closes without the Terminate that PQfinish would block on.
    BackendLink(std::exchange(connection_, nullptr)).drop();
}

}  // namespace pgb
