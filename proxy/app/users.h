#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/base/log.h"
#include "proxy/io/file_watch.h"
#include "proxy/io/off_loop.h"
#include "proxy/io/secret_memory.h"
#include "proxy/session/users_file.h"

namespace pgb {

/// One users file at run time: it is read again when it has changed, and of passwords in the clear
/// the verifiers are derived off the loop, once for each version of the file.
///
/// While any is still to be derived, every login waits for one derivation: that of its user's, or
/// one for show when there is no such user. Afterwards none waits. So the time that a login takes
/// does not say whether its user exists.
///
/// A file with a fault changes nothing; its faults are logged, each with its place. The file's text
/// is kept out of core dumps and wiped when another version takes its place.
class Users {
public:
    /// What a login is judged by.
    struct Verdict {
        ScramVerifier verifier;
        bool is_doomed = false;  ///< No such user, or one without a password.
    };
    struct Tools {
        Loop& loop;
        Log& log;
        OffLoop& off_loop;
        /// Of this run of the program, for the verifiers of users that there are not.
        const std::string& mock_secret;
        /// What the login waited for is over: it asks again.
        std::function<void(std::uint64_t login)> on_ready;
    };

    Users(Tools tools, std::string path);
    ~Users();
    Users(const Users&) = delete;
    Users& operator=(const Users&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Reads the file; false: it has faults, which were logged.
    bool read();

    /// Nothing: the login waits, and on_ready(login) will follow. `has_waited`: it did already.
    std::optional<Verdict> verdict(std::string_view user, std::uint64_t login, bool has_waited);
    /// In the clear; empty when the file has none. Valid until the next turn.
    [[nodiscard]] std::string_view password_of(std::string_view user) const;
    /// Users of whom only a verifier is known.
    [[nodiscard]] std::vector<std::string> verifiers_only() const;

private:
    class Derivation;
    struct Account;
    struct Version;

    void put_in_force(std::unique_ptr<Version> version);
    void derive(std::size_t account, std::uint64_t login, OffLoop::Place place);
    void derive_next();
    void on_derived(const Derivation& derivation);

    Tools tools_;
    std::string path_;
    std::unique_ptr<Version> version_;
    std::uint64_t version_number_ = 0;
    FileWatch watch_;
};

}  // namespace pgb
