#include "proxy/io/query_link.h"

#include <libpq-fe.h>

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {

std::string one_line(const char* text) {
    std::string line = text != nullptr ? text : "";
    while (!line.empty() && line.back() == '\n') line.pop_back();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line.empty() ? "no reason was given" : line;
}

void read_rows(const PGresult* result, std::vector<QueryAnswer::Row>& rows) {
    const int columns = PQnfields(result);
    for (int row = 0; row < PQntuples(result); ++row) {
        QueryAnswer::Row& values = rows.emplace_back();
        for (int column = 0; column < columns; ++column) {
            if (PQgetisnull(result, row, column) != 0) {
                values.emplace_back(std::nullopt);
            } else {
                values.emplace_back(PQgetvalue(result, row, column));
            }
        }
    }
}

}  // namespace

QueryLink::QueryLink(Loop& loop, BackendLink link, OnAnswer on_answer)
    : loop_(loop), on_answer_(std::move(on_answer)), connection_(link.release()) {
    PQsetnonblocking(connection_, 1);
    watch();
}

QueryLink::~QueryLink() {
    socket_.reset();
    BackendLink link(connection_);
    if (state_ == State::idle) link.goodbye();
}

void QueryLink::watch() {
    socket_.emplace(loop_, PQsocket(connection_), *this, FdOwner::borrowed);
    socket_->watch(true, unsent_);
}

std::string QueryLink::ask(const std::string& sql, const std::string& parameter) {
    PGB_CHECK(state_ == State::idle);
    socket_.reset();
    answer_ = {};
    const char* values[] = {parameter.c_str()};
    if (PQsendQueryParams(connection_, sql.c_str(), 1, nullptr, values, nullptr, nullptr, 0) == 0 ||
        !flush()) {
        return lose();
    }
    state_ = State::asked;
    watch();
    return {};
}

bool QueryLink::flush() {
    const int left = PQflush(connection_);
    unsent_ = left == 1;
    return left >= 0 && PQstatus(connection_) == CONNECTION_OK;
}

void QueryLink::on_ready(bool, bool) {
    socket_.reset();
    if (PQconsumeInput(connection_) == 0 || !flush()) {
        on_answer_({{}, lose()});
        return;
    }
    while (PGnotify* notification = PQnotifies(connection_)) PQfreemem(notification);
    if (state_ == State::asked) take_results();
    if (state_ != State::lost) watch();
}

void QueryLink::take_results() {
    while (PQisBusy(connection_) == 0) {
        PGresult* result = PQgetResult(connection_);
        if (result == nullptr) {
            const bool ended = PQstatus(connection_) != CONNECTION_OK;
            if (ended) {
                answer_ = {{}, lose()};
            } else {
                state_ = State::idle;
            }
            on_answer_(std::exchange(answer_, {}));
            return;
        }
        if (PQresultStatus(result) == PGRES_TUPLES_OK) {
            read_rows(result, answer_.rows);
        } else {
            answer_.rows.clear();
            const char* words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
            answer_.trouble = one_line(words != nullptr ? words : PQresultErrorMessage(result));
        }
        PQclear(result);
    }
}

std::string QueryLink::lose() {
    state_ = State::lost;
    return one_line(PQerrorMessage(connection_));
}

}  // namespace pgb
