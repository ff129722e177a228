#include "proxy/app/auth_files.h"

#include <set>

#include "config/codes.h"
#include "proxy/app/user_map.h"
#include "proxy/io/secret_memory.h"
#include "proxy/session/users_file.h"

namespace pgb {

namespace {

std::vector<LineFault> faults_of_users(std::span<char> text) { return parse_users(text).faults; }
std::vector<LineFault> faults_of_map(std::span<char> text) { return UserMap::parse(text).faults; }

void complain(std::vector<std::string>& out, const std::string& file,
              std::vector<LineFault> (*faults_of)(std::span<char>)) {
    const std::string code = ": " + std::string(config::code::kUsersFile) + ": ";
    Result<SecretMemory> text = read_secret_file(file, kUsersFileMax);
    if (!text) {
        out.push_back(file + code + text.error().message);
        return;
    }
    for (const LineFault& fault : faults_of(text->bytes())) {
        out.push_back(file + ':' + std::to_string(fault.line) + ':' + std::to_string(fault.column) +
                      code + fault.text);
    }
}

}  // namespace

std::vector<std::string> auth_file_complaints(const config::Config& config) {
    std::set<std::string> users_files;
    std::set<std::string> maps;
    for (const config::Listener& listener : config.listen) {
        const config::AuthConfig& auth = listener.auth;
        if (auth.method == config::AuthMethod::scram_sha_256 && auth.users_file) {
            users_files.insert(*auth.users_file);
        }
        if (config::uses_user_map(auth.method) && auth.user_map) maps.insert(*auth.user_map);
    }
    std::vector<std::string> complaints;
    for (const std::string& file : users_files) complain(complaints, file, faults_of_users);
    for (const std::string& file : maps) complain(complaints, file, faults_of_map);
    return complaints;
}

}  // namespace pgb
