#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/io/tls_stream.h"

namespace pgb {

/// The streams of server-sent events of one HTTP server. One thread serves all of them, so that none
/// holds a worker; it is asleep while there is none.
///
/// Each stream is sent a frame when it comes and one every `interval`. One that has not taken the
/// frame before gets no other until it has, so that it never holds more than one; one that takes
/// nothing for `patience` is closed. Whatever a peer sends is read and forgotten.
class EventStreams {
public:
    /// As browsers allow for few at once from one person, far above what a team opens.
    static constexpr std::size_t kStreamsMax = 32;

    struct Pace {
        Duration interval = std::chrono::seconds(1);
        Duration patience = std::chrono::seconds(5);
    };

    /// What is sent: whole events in the form of text/event-stream. Called on the thread of the
    /// streams. `is_first`: for those that have just come. Empty: there is nothing, and the streams
    /// get a comment, by which their peers see that the connection lives.
    using Source = std::function<std::string(bool is_first)>;

    explicit EventStreams(Source source) : EventStreams(std::move(source), Pace()) {}
    EventStreams(Source source, Pace pace);
    /// Closes all of them.
    ~EventStreams();
    EventStreams(const EventStreams&) = delete;
    EventStreams& operator=(const EventStreams&) = delete;

    // For any thread.

    /// A place for one more, to be used by adopt() or given back. False: there is none.
    [[nodiscard]] bool reserve();
    void give_back();
    /// Takes a connection whose head was sent; it owns the descriptor from now on.
    void adopt(int fd, std::unique_ptr<TlsStream> tls);

private:
    struct Stream {
        int fd = -1;
        std::unique_ptr<TlsStream> tls = nullptr;
        std::string unsent = {};
        Instant stuck_since = Instant::never();
        bool is_over = false;
    };

    void run();
    void wait(Instant until);
    void take_newcomers();
    void send_all(Instant now);
    void send(Stream& stream, std::string_view frame, Instant now);
    void push(Stream& stream, Instant now);
    void read_from(Stream& stream);
    void remove_ended();
    void wake() const;
    [[nodiscard]] std::string next_frame(bool is_first);

    Source source_;
    Pace pace_;
    int wake_fd_;
    std::atomic<std::size_t> places_taken_{0};
    std::atomic<bool> ending_{false};
    std::mutex mutex_;
    std::vector<Stream> newcomers_;  // under the mutex
    std::vector<Stream> streams_;    // of the thread
    std::thread thread_;
};

}  // namespace pgb
