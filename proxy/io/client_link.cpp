#include "proxy/io/client_link.h"

#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {
// A flight of a handshake fits; what does not comes with the next turn.
constexpr std::size_t kHandshakeRead = 8192;
}  // namespace

void ClientLink::shutdown_write() {
    if (is_tls()) tls_->say_end();
    socket_.shutdown_write();
}

void ClientLink::close() {
    if (is_tls() && is_open()) tls_->say_end();
    socket_.close();
    // Its memory is most of a connection's, and what is closed may stay a while.
    tls_.reset();
    state_ = State::plain;
}

void ClientLink::begin_tls(std::unique_ptr<TlsStream> stream, std::string_view received) {
    PGB_CHECK(state_ == State::plain && is_open());
    tls_ = std::move(stream);
    tls_->feed(received);
    state_ = State::shaking;
}

ClientLink::Exchange ClientLink::exchange() {
    if (state_ == State::calculating) return Exchange::wait;
    PGB_CHECK(state_ == State::shaking);
    const IoStatus sent = flush();
    if (sent == IoStatus::error) return Exchange::ended;
    if (sent == IoStatus::would_block) {
        // Before the client has taken our part it has nothing to say.
        socket_.watch(false, true);
        return Exchange::wait;
    }
    if (step_ == HandshakeStep::failed) return Exchange::ended;
    if (step_ == HandshakeStep::done) {
        tls_->attach(socket_.fd());
        state_ = State::tls;
        return Exchange::open;
    }
    if (!tls_->has_work() && !receive()) return Exchange::ended;
    if (tls_->has_work()) return Exchange::calculate;
    socket_.watch(true, false);
    return Exchange::wait;
}

bool ClientLink::receive() {
    char buffer[kHandshakeRead];
    const ReadResult read = socket_.read(buffer);
    switch (read.status) {
        case IoStatus::bytes: tls_->feed({buffer, read.count}); return true;
        case IoStatus::would_block: return true;
        case IoStatus::eof:
        case IoStatus::error: break;
    }
    return false;
}

/// `bytes`: all is sent.
IoStatus ClientLink::flush() {
    std::string& output = tls_->output();
    while (!output.empty()) {
        const std::string_view segment[] = {output};
        const WriteResult written = socket_.write(segment);
        if (written.status != IoStatus::bytes) return written.status;
        output.erase(0, written.count);
    }
    return IoStatus::bytes;
}

std::unique_ptr<TlsStream> ClientLink::lend() {
    PGB_CHECK(state_ == State::shaking && tls_->has_work());
    state_ = State::calculating;
    socket_.watch(false, false);
    return std::move(tls_);
}

void ClientLink::take_back(std::unique_ptr<TlsStream> stream, HandshakeStep step) {
    PGB_CHECK(state_ == State::calculating);
    tls_ = std::move(stream);
    state_ = State::shaking;
    step_ = step;
}

}  // namespace pgb
