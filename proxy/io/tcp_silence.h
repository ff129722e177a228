#pragma once

#include "proxy/base/instant.h"

namespace pgb {

/// What the kernel knows of the far end of a TCP connection.
struct TcpProgress {
    /// Bytes or a probe are on their way to it and not acknowledged. A peer that lives and does not
    /// read acknowledges each probe of its full window, so it is rarely seen so, and never for long.
    bool awaits_peer = false;
    Duration since_acknowledgement{0};
};

/// Nothing is ever awaited of a Unix socket.
[[nodiscard]] TcpProgress tcp_progress(int fd);

/// Finds out that the far end of a connection is gone, by its not acknowledging what it was sent.
///
/// TCP_USER_TIMEOUT is not used for it: the kernel counts a full window as silence too, and so would
/// end the connection of a client that pauses in reading a long result, or of a PostgreSQL that
/// waits for a lock with a COPY's data in front of it. Keepalive finds the dead of those to whom
/// nothing was sent; this finds the others, where it would never look.
class TcpSilence {
public:
    /// True when nothing was acknowledged for `limit`, as far as it was looked at: asked every now
    /// and then while it matters. A limit of zero: never.
    [[nodiscard]] bool is_over(const TcpProgress& progress, Instant now, Duration limit);

private:
    Instant since_ = Instant::never();
};

}  // namespace pgb
