#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/model.h"
#include "proxy/base/log.h"
#include "proxy/base/result.h"
#include "proxy/io/file_watch.h"
#include "proxy/io/loop.h"
#include "proxy/io/tls_context.h"
#include "proxy/io/tls_handshaker.h"
#include "proxy/io/tls_holder.h"

namespace pgb {

/// The files that a listener's `tls` names.
[[nodiscard]] TlsFiles tls_files(const config::Tls& tls);
/// Those of the HTTP addresses.
[[nodiscard]] TlsFiles tls_files(const config::AdminTls& tls);

/// The TLS of one door.
struct DoorTls {
    std::string name;  ///< of the listener, or `admin`
    TlsFiles files;
    bool is_required = false;
    /// For the next client. Replaced when the files have others in them; those who are in keep what
    /// they came with.
    TlsHolder context;
    std::vector<std::unique_ptr<FileWatch>> watches;
};

/// The TLS of all doors and of the HTTP addresses: loaded at the start, loaded anew when a file has changed or on a reload.
/// Files that do not serve, such as a certificate whose key is not there yet, change nothing and are
/// logged.
class TlsDoors {
public:
    TlsDoors(Loop& loop, Log& log, TlsHandshaker::Done on_handshake)
        : loop_(loop), log_(log), on_handshake_(std::move(on_handshake)) {}

    /// What a door with these settings has; null: none. It stays where it is.
    Result<const DoorTls*> open(const config::Listener& listener);
    Result<const DoorTls*> open(const config::AdminTls& tls);
    /// Looks at all files anew.
    void reload();
    /// Only when a door has TLS.
    [[nodiscard]] TlsHandshaker& handshaker() { return *handshaker_; }

private:
    Result<const DoorTls*> add(std::unique_ptr<DoorTls> door);
    void watch(DoorTls& door, const std::string& file);
    void load_anew(DoorTls& door);
    void put_in_force(DoorTls& door, std::shared_ptr<const TlsContext> context);

    Loop& loop_;
    Log& log_;
    TlsHandshaker::Done on_handshake_;
    std::vector<std::unique_ptr<DoorTls>> doors_;
    std::unique_ptr<TlsHandshaker> handshaker_;  // a thread that only those who need it have
};

}  // namespace pgb
