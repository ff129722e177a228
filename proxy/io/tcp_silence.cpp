#include "proxy/io/tcp_silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace pgb {

TcpProgress tcp_progress(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
    return {.awaits_peer = info.tcpi_unacked > 0 || info.tcpi_probes > 0,
            .since_acknowledgement = std::chrono::milliseconds(info.tcpi_last_ack_recv)};
}

bool TcpSilence::is_over(const TcpProgress& progress, Instant now, Duration limit) {
    if (!progress.awaits_peer || limit == Duration::zero()) {
        since_ = Instant::never();
        return false;
    }
    // The last acknowledgement may be older than what is awaited, which was sent after the last look.
    if (since_.is_never()) since_ = now;
    since_ = std::max(since_, Instant(now.since_start() - progress.since_acknowledgement));
    return now - since_ >= limit;
}

}  // namespace pgb
