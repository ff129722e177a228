#include "proxy/session/users_file.h"

#include <string>
#include <unordered_map>

namespace pgb {

namespace {

// PostgreSQL's NAMEDATALEN less its zero, and what fits into a PasswordMessage.
constexpr std::size_t kNameMax = 63;
constexpr std::size_t kPasswordMax = 65530;

bool is_md5(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    return text.size() == 35 && text.starts_with("md5") &&
           text.find_first_not_of(kHex, 3) == std::string_view::npos;
}

/// Takes the pairs one by one.
class UsersReader {
public:
    explicit UsersReader(std::vector<LineFault> faults) { result_.faults = std::move(faults); }

    void add(const QuotedPair& pair) {
        if (pair.first.empty() || pair.first.size() > kNameMax) {
            return complain(pair, pair.first_column, "a user's name has 1 to 63 bytes");
        }
        UserEntry entry{.name = pair.first, .password = {}, .verifier = {}, .line = pair.line};
        if (is_scram_verifier(pair.second)) {
            entry.verifier = parse_scram_verifier(pair.second);
        } else {
            entry.password = pair.second;
        }
        if (const char* fault = fault_of(entry, pair.second)) {
            return complain(pair, pair.second_column, fault);
        }
        const auto [known, is_new] = lines_.emplace(pair.first, pair.line);
        if (!is_new) {
            return complain(pair, pair.first_column,
                            "this user stands on line " + std::to_string(known->second) + " too");
        }
        if (lines_.size() == kUsersMax + 1) {
            return complain(pair, pair.first_column,
                            "more users than " + std::to_string(kUsersMax));
        }
        result_.entries.push_back(std::move(entry));
    }

    UsersText take() {
        sort_faults(result_.faults);
        return std::move(result_);
    }

private:
    static const char* fault_of(const UserEntry& entry, std::string_view secret) {
        if (is_scram_verifier(secret)) {
            return entry.verifier ? nullptr : "this is no whole SCRAM verifier";
        }
        if (secret.size() > kPasswordMax) return "no client can send so long a password";
        return is_md5(secret) ? "MD5 hashes are not taken" : nullptr;
    }
    void complain(const QuotedPair& pair, std::uint32_t column, std::string text) {
        result_.faults.push_back({pair.line, column, std::move(text)});
    }

    std::unordered_map<std::string_view, std::uint32_t> lines_;
    UsersText result_;
};

}  // namespace

UsersText parse_users(std::span<char> text) {
    QuotedPairs read =
        parse_quoted_pairs(text, {"a user's name", "a password or a SCRAM verifier"});
    UsersReader reader(std::move(read.faults));
    for (const QuotedPair& pair : read.pairs) reader.add(pair);
    return reader.take();
}

}  // namespace pgb
