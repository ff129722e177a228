#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/io/backend_connector.h"
#include "tests/unit/io/loop_runner.h"

namespace pgb {

/// A connector with its loop, and what came of the logins.
class ConnectorBench {
public:
    void connect(ConnectRequest request) { connector_.connect(std::move(request)); }
    void abandon(std::uint64_t id) { connector_.abandon(id); }
    /// Until every login was answered.
    bool wait() {
        return run_until(loop, [this] { return connector_.pending_count() == 0; });
    }
    [[nodiscard]] std::string complaint() const {
        return failed.empty() ? "" : failed[0].sqlstate + ' ' + failed[0].message;
    }

    /// Sends a simple query over the link; the first column of the last row that comes back.
    std::string ask(BackendLink& link, const std::string& sql) {
        send_query(link, sql);
        return read_reply(link);
    }

    void send_query(BackendLink& link, const std::string& sql) {
        std::string message = "Q";
        append_length(message, sql.size() + 5);
        message += sql;
        message += '\0';
        std::string_view rest = message;
        while (!rest.empty()) {
            const std::string_view segments[] = {
                rest.substr(0, 3), rest.substr(std::min<std::size_t>(3, rest.size()))};
            const WriteResult result = link.write(segments);
            if (result.status == IoStatus::error) return;
            rest.remove_prefix(result.count);
            if (result.status == IoStatus::would_block) wait_for(link, false);
        }
    }

    /// Until ReadyForQuery; an ErrorResponse's SQLSTATE instead of a value.
    std::string read_reply(BackendLink& link) {
        std::string value;
        std::string bytes;
        for (;;) {
            while (bytes.size() >= 5) {
                const std::size_t size = 1 + length_at(bytes, 1);
                if (bytes.size() < size) break;
                if (bytes[0] == 'D') value = bytes.substr(11, length_at(bytes, 7));
                if (bytes[0] == 'E')
                    value = bytes.substr(bytes.find(std::string_view("\0C", 2)) + 2, 5);
                if (bytes[0] == 'Z') return value;
                bytes.erase(0, size);
            }
            char buffer[65536];
            const ReadResult result = link.read(buffer);
            if (result.status == IoStatus::bytes) {
                bytes.append(buffer, result.count);
            } else if (result.status == IoStatus::would_block) {
                wait_for(link, true);
            } else {
                return "(closed)";
            }
        }
    }

    Loop loop;
    std::vector<ConnectedBackend> connected;
    std::vector<ConnectFailure> failed;

private:
    struct Ready final : SocketEvents {
        virtual ~Ready() = default;
        void on_ready(bool, bool) override { is_ready = true; }
        bool is_ready = false;
    };

    void wait_for(BackendLink& link, bool readable) {
        Ready ready;
        Socket socket(loop, link.fd(), ready, FdOwner::borrowed);
        socket.watch(readable, !readable);
        run_until(loop, [&ready] { return ready.is_ready; });
    }

    static void append_length(std::string& out, std::size_t value) {
        for (int shift = 24; shift >= 0; shift -= 8)
            out += static_cast<char>(value >> shift & 0xff);
    }
    static std::size_t length_at(const std::string& bytes, std::size_t at) {
        std::size_t value = 0;
        for (std::size_t i = at; i < at + 4; ++i) {
            value = value << 8 | static_cast<unsigned char>(bytes[i]);
        }
        return value;
    }

    BackendConnector connector_{
        loop,
        {[this](ConnectedBackend backend) { connected.push_back(std::move(backend)); },
         [this](ConnectFailure failure) { failed.push_back(std::move(failure)); }}};
};

}  // namespace pgb
