#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "proxy/app/user_map_file.h"
#include "proxy/app/users.h"
#include "proxy/base/instant.h"
#include "proxy/base/log.h"
#include "proxy/base/result.h"
#include "proxy/base/secret.h"
#include "proxy/io/off_loop.h"

namespace pgb {

/// How the clients of one door say who they are.
struct DoorRules {
    config::AuthMethod method = config::AuthMethod::trust;
    bool allow_insecure = false;
    Duration cache_lifetime{0};
    Users* users = nullptr;            ///< of scram-sha-256
    const UserMapFile* map = nullptr;  ///< of peer and cert; null: outside names are users'
};

/// What logins wait for, by the number of the login.
struct LoginNews {
    /// Its user's verifier may be asked for again.
    std::function<void(std::uint64_t login)> on_ready;
    /// The operating system's name of its client; nothing: there is none.
    std::function<void(std::uint64_t login, const std::optional<std::string>& name)> on_peer_name;
};

/// The users files and user maps of all doors, each read once however many doors use it, and the
/// threads on which passwords are hashed and the system is asked for names.
class Doorkeeper {
public:
    /// `config` stays where it is.
    Doorkeeper(Loop& loop, Log& log, const config::Config& config, LoginNews news);

    /// An error: a file could not be read or has faults, which were logged.
    Result<DoorRules> open(const config::AuthConfig& auth);

    /// on_peer_name() follows.
    void ask_peer_name(std::uint32_t user_id, std::uint64_t login);
    /// In the clear, as which a backend may log in; empty when no users file has it.
    [[nodiscard]] Secret password_of(std::string_view user) const;
    /// Tells the log that somebody was not let in, and why; at most once a second.
    void note_refused(std::string_view door, std::string_view user, std::string_view client,
                      std::string_view why);

private:
    class PeerName;
    Result<Users*> users_of(const std::string& path);
    Result<UserMapFile*> map_of(const std::string& path);
    void look_for_passwords(const Users& users);

    Loop& loop_;
    Log& log_;
    const config::Config& config_;
    LoginNews news_;
    std::string mock_secret_;
    std::vector<std::unique_ptr<Users>> users_;
    std::vector<std::unique_ptr<UserMapFile>> maps_;
    // After the files: what runs on the threads still knows them.
    OffLoop off_loop_;
    Instant next_report_;
    std::int64_t unreported_ = 0;
};

}  // namespace pgb
