// Connects under way: for whom each is, and who gets the answer. Everything here belongs to Server.

#include "proxy/app/server.h"
#include "proxy/base/check.h"

namespace pgb {

std::uint64_t Server::new_connect(Database& database, BackendId id) {
    const std::uint64_t number = next_connect_++;
    connects_.emplace(number, PendingConnect{&database, id});
    return number;
}

std::uint64_t Server::new_connect(LockSampler& sampler) {
    const std::uint64_t number = next_connect_++;
    connects_.emplace(number, PendingConnect{nullptr, {}, &sampler});
    return number;
}

std::uint64_t Server::new_connect(Proving& proving) {
    const std::uint64_t number = next_connect_++;
    connects_.emplace(number, PendingConnect{nullptr, {}, nullptr, &proving});
    return number;
}

Server::PendingConnect Server::take_connect(std::uint64_t number) {
    const auto found = connects_.find(number);
    PGB_CHECK(found != connects_.end());
    const PendingConnect pending = found->second;
    connects_.erase(found);
    return pending;
}

void Server::on_connected(ConnectedBackend connected) {
    const std::uint64_t number = connected.id;
    const PendingConnect pending = take_connect(number);
    if (pending.sampler != nullptr) {
        pending.sampler->on_connected(std::move(connected));
    } else if (pending.proving != nullptr) {
        pending.proving->on_connected(number, std::move(connected));
    } else {
        pending.database->on_connected(pending.id, std::move(connected));
    }
}

void Server::on_connect_failed(const ConnectFailure& failure) {
    const PendingConnect pending = take_connect(failure.id);
    if (pending.sampler != nullptr) {
        pending.sampler->on_connect_failed(failure);
    } else if (pending.proving != nullptr) {
        pending.proving->on_connect_failed(failure.id, failure);
    } else {
        pending.database->on_connect_failed(pending.id, failure);
    }
}

}  // namespace pgb
