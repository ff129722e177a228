#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "proxy/io/loop.h"
#include "proxy/io/tls_stream.h"

namespace pgb {

/// Calculates handshakes on a thread of its own, so that the loop never waits for a signature: a
/// storm of handshakes takes one processor at most, behind everybody else who wants it, and sessions
/// that are there go on. One after the other, in the order of arrival.
///
/// The stream itself changes hands: while it is here nobody else has it, and it touches nothing but
/// its own memory. A connection that ends meanwhile is no matter: its stream comes back to nobody.
class TlsHandshaker {
public:
    /// On the loop's thread; `id` is what advance() was given.
    using Done = std::function<void(std::uint64_t id, std::unique_ptr<TlsStream> stream,
                                    HandshakeStep step)>;

    TlsHandshaker(Loop& loop, Done done);
    /// Waits for the one that it is at; what waits behind it is dropped.
    ~TlsHandshaker();
    TlsHandshaker(const TlsHandshaker&) = delete;
    TlsHandshaker& operator=(const TlsHandshaker&) = delete;

    /// Has the stream go one step on. One of an id at a time.
    void advance(std::uint64_t id, std::unique_ptr<TlsStream> stream);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pgb
