#include "proxy/app/doorkeeper.h"

#include <utility>

#include "proxy/io/connect_plan.h"
#include "proxy/io/conninfo.h"
#include "proxy/io/loop.h"
#include "proxy/io/peer_name.h"
#include "proxy/io/random.h"

namespace pgb {

namespace {

constexpr std::size_t kMockSecretSize = 32;
// Of the four threads of libuv's pool; the others are left to host names.
constexpr std::size_t kHashesAtOnce = 2;
// A file of thousands would delay the start, and nobody reads so many lines.
constexpr std::size_t kVerifiersChecked = 20;
// Who tries many passwords does not fill the disk.
constexpr Duration kReportInterval = std::chrono::seconds(1);

}  // namespace

class Doorkeeper::PeerName final : public OffLoopWork {
public:
    PeerName(Doorkeeper& owner, std::uint32_t user_id, std::uint64_t login)
        : owner_(owner), user_id_(user_id), login_(login) {}

    void run() override { name_ = user_name(user_id_); }
    void done() override { owner_.news_.on_peer_name(login_, name_); }

private:
    Doorkeeper& owner_;
    std::uint32_t user_id_;
    std::uint64_t login_;
    std::optional<std::string> name_;
};

Doorkeeper::Doorkeeper(Loop& loop, Log& log, const config::Config& config, LoginNews news)
    : loop_(loop),
      log_(log),
      config_(config),
      news_(std::move(news)),
      mock_secret_(random_bytes(kMockSecretSize)),
      off_loop_(loop, kHashesAtOnce) {}

Result<DoorRules> Doorkeeper::open(const config::AuthConfig& auth) {
    DoorRules rules{.method = auth.method,
                    .allow_insecure = auth.allow_insecure,
                    .cache_lifetime = auth.cache_lifetime};
    if (auth.method == config::AuthMethod::scram_sha_256) {
        Result<Users*> users = users_of(auth.users_file.value_or(""));
        if (!users) return std::move(users.error());
        rules.users = users.value();
    }
    if (config::uses_user_map(auth.method) && auth.user_map) {
        Result<UserMapFile*> map = map_of(*auth.user_map);
        if (!map) return std::move(map.error());
        rules.map = map.value();
    }
    return rules;
}

Result<Users*> Doorkeeper::users_of(const std::string& path) {
    for (const auto& users : users_) {
        if (users->path() == path) return users.get();
    }
    auto users = std::make_unique<Users>(
        Users::Tools{.loop = loop_,
                     .log = log_,
                     .off_loop = off_loop_,
                     .mock_secret = mock_secret_,
                     .on_ready = news_.on_ready,
                     .on_read = [this](const Users& read) { look_for_passwords(read); }},
        path);
    if (!users->read()) return Error{"the users file " + path + " cannot be used"};
    users_.push_back(std::move(users));
    return users_.back().get();
}

Result<UserMapFile*> Doorkeeper::map_of(const std::string& path) {
    for (const auto& map : maps_) {
        if (map->path() == path) return map.get();
    }
    auto map = std::make_unique<UserMapFile>(loop_, log_, path);
    if (!map->read()) return Error{"the user map " + path + " cannot be used"};
    maps_.push_back(std::move(map));
    return maps_.back().get();
}

// Of a verifier no password can be made: if PostgreSQL asks for one, somebody else must have it.
void Doorkeeper::look_for_passwords(const Users& users) {
    for (const std::string& user : users.verifiers_only(kVerifiersChecked)) {
        for (const config::DatabaseEntry& entry : config_.databases) {
            if (!conninfo_value(entry.conninfo, "user").empty()) continue;
            ConnectRequest request;
            request.conninfo = entry.conninfo;
            request.database = entry.name == "*" ? "" : entry.name;
            request.user = user;
            if (has_password(request)) continue;
            log_.warn("user_without_password",
                      {{"file", users.path()},
                       {"user", user},
                       {"database", entry.name},
                       {"note",
                        "only a SCRAM verifier is known, and neither conninfo nor .pgpass has "
                        "a password, if PostgreSQL should ask for one"}});
        }
    }
}

void Doorkeeper::ask_peer_name(std::uint32_t user_id, std::uint64_t login) {
    off_loop_.run(std::make_unique<PeerName>(*this, user_id, login));
}

Secret Doorkeeper::password_of(std::string_view user) const {
    for (const auto& users : users_) {
        const std::string_view password = users->password_of(user);
        if (!password.empty()) return Secret(password);
    }
    return {};
}

void Doorkeeper::note_refused(std::string_view door, std::string_view user, std::string_view client,
                              std::string_view why) {
    if (loop_.now() < next_report_) {
        ++unreported_;
        return;
    }
    next_report_ = loop_.now() + kReportInterval;
    log_.info("login_refused", {{"listener", door},
                                {"user", user},
                                {"client", client},
                                {"reason", why},
                                {"others_since", std::exchange(unreported_, 0)}});
}

}  // namespace pgb
