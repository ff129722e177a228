#include "proxy/io/backend_connector.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proxy/io/connect_attempt.h"
#include "proxy/io/waker.h"

namespace pgb {

namespace {

/// The caller may use an id again after abandon(), while an answer for the old one is on its way:
/// the two threads name attempts by serial numbers.
struct Outcome {
    std::uint64_t serial = 0;
    ConnectResult result;
};

}  // namespace

struct BackendConnector::State {
    State(Loop& main, ConnectorCallbacks given)
        : callbacks(std::move(given)), waker(main, [this] { deliver(); }) {}

    // On the main thread.
    void deliver();

    // On the connector's thread.
    void start(std::uint64_t serial, ConnectRequest request);
    void drop(std::uint64_t serial);

    ConnectorCallbacks callbacks;
    std::uint64_t last_serial = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> serial_of_id;

    // Guards `outcomes`, the only thing that both threads touch.
    std::mutex mutex;
    std::vector<Outcome> outcomes;
    Waker waker;

    Loop loop;
    std::unordered_map<std::uint64_t, std::unique_ptr<ConnectAttempt>> running;
    // What ended in this turn; an attempt must not die inside its own events.
    std::vector<std::unique_ptr<ConnectAttempt>> ended;
    std::thread thread;
};

void BackendConnector::State::deliver() {
    std::vector<Outcome> arrived;
    {
        const std::lock_guard lock(mutex);
        arrived.swap(outcomes);
    }
    for (Outcome& outcome : arrived) {
        const std::uint64_t id = std::visit([](auto& value) { return value.id; }, outcome.result);
        const auto at = serial_of_id.find(id);
        if (at == serial_of_id.end() || at->second != outcome.serial) continue;
        serial_of_id.erase(at);
        if (auto* backend = std::get_if<ConnectedBackend>(&outcome.result)) {
            callbacks.on_connected(std::move(*backend));
        } else {
            callbacks.on_failed(std::move(std::get<ConnectFailure>(outcome.result)));
        }
    }
}

void BackendConnector::State::start(std::uint64_t serial, ConnectRequest request) {
    auto attempt = std::make_unique<ConnectAttempt>(
        loop, std::move(request), [this, serial](ConnectAttempt&, ConnectResult result) {
            {
                const std::lock_guard lock(mutex);
                outcomes.push_back({serial, std::move(result)});
            }
            waker.wake();
            drop(serial);
        });
    ConnectAttempt& started = *attempt;
    running.emplace(serial, std::move(attempt));
    started.start();
}

void BackendConnector::State::drop(std::uint64_t serial) {
    const auto at = running.find(serial);
    if (at == running.end()) return;
    ended.push_back(std::move(at->second));
    running.erase(at);
}

BackendConnector::BackendConnector(Loop& main, ConnectorCallbacks callbacks)
    : state_(std::make_unique<State>(main, std::move(callbacks))) {
    State& state = *state_;
    state.loop.set_turn_end([&state] { state.ended.clear(); });
    state.thread = std::thread([&state] {
        state.loop.run();
        state.running.clear();
        state.ended.clear();
    });
}

BackendConnector::~BackendConnector() {
    state_->loop.post([loop = &state_->loop] { loop->stop(); });
    state_->thread.join();
}

void BackendConnector::connect(ConnectRequest request) {
    const std::uint64_t serial = ++state_->last_serial;
    state_->serial_of_id[request.id] = serial;
    state_->loop.post([state = state_.get(), serial, request = std::move(request)]() mutable {
        state->start(serial, std::move(request));
    });
}

void BackendConnector::abandon(std::uint64_t id) {
    const auto at = state_->serial_of_id.find(id);
    if (at == state_->serial_of_id.end()) return;
    const std::uint64_t serial = at->second;
    state_->serial_of_id.erase(at);
    state_->loop.post([state = state_.get(), serial] { state->drop(serial); });
}

std::size_t BackendConnector::pending_count() const { return state_->serial_of_id.size(); }

}  // namespace pgb
