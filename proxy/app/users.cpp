#include "proxy/app/users.h"

#include <algorithm>
#include <utility>

#include "proxy/app/line_faults.h"
#include "proxy/base/secret.h"
#include "proxy/io/random.h"

namespace pgb {

namespace {
// A derivation for show is of no account.
constexpr std::size_t kNoAccount = ~std::size_t{0};
}  // namespace

struct Users::Account {
    std::string_view name;      // into the version's text
    std::string_view password;  // the same
    std::optional<ScramVerifier> verifier;
    bool is_asked = false;  // its derivation is under way

    [[nodiscard]] bool is_underived() const { return !password.empty() && !verifier; }
};

struct Users::Version {
    struct Waiter {
        std::uint64_t login = 0;
        std::size_t account = 0;
    };

    [[nodiscard]] Account* find(std::string_view user) {
        const auto found = by_name.find(user);
        return found == by_name.end() ? nullptr : &accounts[found->second];
    }

    SecretMemory text;
    std::vector<Account> accounts;
    std::unordered_map<std::string_view, std::size_t> by_name;
    std::vector<Waiter> waiters;  // of derivations for accounts
    std::size_t underived = 0;
    std::size_t next = 0;  // the first that the background has not looked at
    bool has_background = false;
};

class Users::Derivation final : public OffLoopWork {
public:
    Derivation(Users& owner, std::size_t of_account, std::uint64_t for_login, bool is_background,
               std::string_view password)
        : version(owner.version_number_),
          account(of_account),
          login(for_login),
          background(is_background),
          owner_(owner),
          password_(password),
          salt_(random_bytes(kScramSaltSize)) {}

    void run() override {
        verifier = derive_scram_verifier(password_.text(), salt_, kScramIterations);
    }
    void done() override { owner_.on_derived(*this); }

    std::uint64_t version;
    std::size_t account;
    std::uint64_t login;
    bool background;
    ScramVerifier verifier;

private:
    Users& owner_;
    Secret password_;
    std::string salt_;
};

Users::Users(Tools tools, std::string path)
    : tools_(std::move(tools)),
      path_(std::move(path)),
      version_(std::make_unique<Version>()),
      watch_(tools_.loop, path_, FileState::of(path_),
             {.on_change =
                  [this] {
                      if (read()) tools_.log.info("users_file_reloaded", {{"file", path_}});
                  },
              .on_trouble =
                  [this](const std::string& folder, const std::string& why) {
                      tools_.log.warn("users_file_not_watched",
                                      {{"folder", folder}, {"message", why}});
                  }}) {}

Users::~Users() = default;

bool Users::read() {
    watch_.note_read();
    Result<SecretMemory> text = read_secret_file(path_, kUsersFileMax);
    if (!text) {
        tools_.log.error("users_file_failed",
                         {{"message", text.error().message}, {"note", "nothing has changed"}});
        return false;
    }
    UsersText parsed = parse_users(text->bytes());
    if (!parsed.faults.empty()) {
        log_line_faults(tools_.log, "users_file_mistake", path_, parsed.faults);
        return false;
    }
    auto version = std::make_unique<Version>();
    version->text = std::move(text.value());
    version->accounts.reserve(parsed.entries.size());
    for (UserEntry& entry : parsed.entries) {
        version->by_name.emplace(entry.name, version->accounts.size());
        version->accounts.push_back(
            {.name = entry.name, .password = entry.password, .verifier = entry.verifier});
    }
    put_in_force(std::move(version));
    return true;
}

// Who has the same password as before keeps the verifier that was derived of it.
void Users::put_in_force(std::unique_ptr<Version> version) {
    for (Account& account : version->accounts) {
        const Account* before = version_->find(account.name);
        const bool is_same = before != nullptr && !account.password.empty() &&
                             is_same_secret(before->password, account.password);
        if (is_same) account.verifier = before->verifier;
        if (account.is_underived()) ++version->underived;
    }
    const std::unique_ptr<Version> before = std::exchange(version_, std::move(version));
    ++version_number_;
    derive_next();
    for (const Version::Waiter& waiter : before->waiters) tools_.on_ready(waiter.login);
}

std::optional<Users::Verdict> Users::verdict(std::string_view user, std::uint64_t login,
                                             bool has_waited) {
    const Account* account = version_->find(user);
    const bool is_doomed = account == nullptr || (account->password.empty() && !account->verifier);
    const bool is_underived = account != nullptr && account->is_underived();
    if (is_underived) {
        const auto index = static_cast<std::size_t>(account - version_->accounts.data());
        version_->waiters.push_back({login, index});
        if (!account->is_asked) derive(index, login, OffLoop::Place::first);
        return std::nullopt;
    }
    if (version_->underived > 0 && !has_waited) {
        derive(kNoAccount, login, OffLoop::Place::first);
        return std::nullopt;
    }
    if (is_doomed) return Verdict{mock_scram_verifier(tools_.mock_secret, user), true};
    return Verdict{*account->verifier, false};
}

std::string_view Users::password_of(std::string_view user) const {
    const Account* account = version_->find(user);
    return account == nullptr ? std::string_view{} : account->password;
}

std::vector<std::string> Users::verifiers_only() const {
    std::vector<std::string> names;
    for (const Account& account : version_->accounts) {
        if (account.password.empty() && account.verifier) names.emplace_back(account.name);
    }
    return names;
}

void Users::derive(std::size_t account, std::uint64_t login, OffLoop::Place place) {
    const bool background = place == OffLoop::Place::last;
    std::string_view password = "for show";
    if (account != kNoAccount) {
        version_->accounts[account].is_asked = true;
        password = version_->accounts[account].password;
    }
    tools_.off_loop.run(std::make_unique<Derivation>(*this, account, login, background, password),
                        place);
}

// One after the other, so that a long file leaves the threads to those who wait.
void Users::derive_next() {
    Version& version = *version_;
    if (version.has_background) return;
    while (version.next < version.accounts.size()) {
        const std::size_t index = version.next++;
        const Account& account = version.accounts[index];
        if (!account.is_underived() || account.is_asked) continue;
        version.has_background = true;
        derive(index, 0, OffLoop::Place::last);
        return;
    }
}

void Users::on_derived(const Derivation& derivation) {
    if (derivation.account == kNoAccount) {
        tools_.on_ready(derivation.login);
        return;
    }
    // Of an older version nothing counts any more, and who waited for it has been told.
    if (derivation.version != version_number_) return;
    Version& version = *version_;
    version.accounts[derivation.account].verifier = derivation.verifier;
    --version.underived;
    if (derivation.background) version.has_background = false;
    derive_next();
    const auto is_told = [&](const Version::Waiter& waiter) {
        return waiter.account != derivation.account;
    };
    const auto told =
        std::stable_partition(version.waiters.begin(), version.waiters.end(), is_told);
    const std::vector<Version::Waiter> ready(told, version.waiters.end());
    version.waiters.erase(told, version.waiters.end());
    for (const Version::Waiter& waiter : ready) tools_.on_ready(waiter.login);
}

}  // namespace pgb
