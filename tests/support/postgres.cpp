#include "tests/support/postgres.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace pgb {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kStartMax = std::chrono::seconds(30);

[[noreturn]] void give_up(const std::string& why) {
    throw std::runtime_error("test PostgreSQL: " + why);
}

/// The directory of initdb and postgres: `pg_config` belongs to a package that need not be there.
std::string programs() {
    for (int version = 20; version >= 13; --version) {
        std::string path = "/usr/lib/postgresql/" + std::to_string(version) + "/bin";
        if (access((path + "/initdb").c_str(), X_OK) == 0) return path;
    }
    give_up("no /usr/lib/postgresql/*/bin/initdb");
}

const passwd* unprivileged_user() {
    if (geteuid() != 0) return nullptr;
    const passwd* user = getpwnam("postgres");
    if (user == nullptr) give_up("root needs a user postgres to run it as");
    return user;
}

void become(const passwd* user) {
    if (user == nullptr) return;
    if (initgroups(user->pw_name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 ||
        setuid(user->pw_uid) != 0) {
        _exit(126);
    }
}

/// Starts a program as the unprivileged user, with its output in a file.
pid_t spawn(const std::vector<std::string>& words, const std::string& log) {
    const passwd* user = unprivileged_user();
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    become(user);
    // PostgreSQL's immediate shutdown, so that no server outlives a test that crashed.
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent) _exit(125);
    const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
}

void run_to_end(const std::vector<std::string>& words, const std::string& log) {
    int status = 0;
    if (waitpid(spawn(words, log), &status, 0) < 0 || status != 0) {
        give_up(words[0] + " failed; see " + log);
    }
}

std::uint16_t free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        give_up("no free port");
    }
    close(fd);
    return ntohs(address.sin_port);
}

std::string make_directory() {
    char name[] = "/tmp/pgb-test-XXXXXX";
    if (mkdtemp(name) == nullptr) give_up("no temporary directory");
    if (const passwd* user = unprivileged_user()) {
        if (chown(name, user->pw_uid, user->pw_gid) != 0) give_up("chown failed");
    }
    chmod(name, 0755);
    return name;
}

struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
};

}  // namespace

TestPostgres::TestPostgres(const Settings& settings)
    : directory_(make_directory()), port_(free_port()) {
    create(settings);
    start();
    run("CREATE ROLE alice LOGIN PASSWORD 'secret'");
}

TestPostgres::~TestPostgres() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

TestPostgres& TestPostgres::shared() {
    static TestPostgres server;
    return server;
}

void TestPostgres::create(const Settings& settings) const {
    const std::string log = directory_ + "/setup.log";
    run_to_end({programs() + "/initdb", "-D", data(), "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync"},
               log);
    run_to_end({"/usr/bin/openssl", "req", "-new", "-x509", "-nodes", "-days", "30", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                directory_ + "/server.key", "-out", directory_ + "/server.crt"},
               log);
    std::ofstream hba(data() + "/pg_hba.conf");
    hba << "local all all trust\n"
           "host all alice all scram-sha-256\n"
           "host all all all trust\n";
    std::ofstream conf(data() + "/postgresql.conf", std::ios::app);
    conf << "port = " << port_ << "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '"
         << directory_ << "'\nmax_connections = " << settings.max_connections
         << "\nfsync = off\nfull_page_writes = off\nsynchronous_commit = off\nssl = on\n"
         << "ssl_cert_file = '" << directory_ << "/server.crt'\nssl_key_file = '" << directory_
         << "/server.key'\nlog_line_prefix = '%m [%p] '\n";
    for (const std::string& line : settings.lines) conf << line << '\n';
}

void TestPostgres::start() {
    server_ = spawn({programs() + "/postgres", "-D", data()}, directory_ + "/server.log");
    const auto deadline = Clock::now() + kStartMax;
    const std::string conninfo = unix_socket() + " user=postgres dbname=postgres";
    while (PQping(conninfo.c_str()) != PQPING_OK) {
        if (waitpid(server_, nullptr, WNOHANG) != 0 || Clock::now() > deadline) {
            give_up("the server did not start; see " + directory_ + "/server.log");
        }
        poll(nullptr, 0, 10);
    }
}

void TestPostgres::stop() {
    if (server_ < 0) return;
    kill(server_, SIGQUIT);
    waitpid(server_, nullptr, 0);
    server_ = -1;
}

std::string TestPostgres::tcp() const { return "host=127.0.0.1 port=" + std::to_string(port_); }

std::string TestPostgres::unix_socket() const {
    return "host=" + directory_ + " port=" + std::to_string(port_);
}

std::string TestPostgres::query(const std::string& sql) const {
    const std::string conninfo = unix_socket() + " user=postgres dbname=postgres";
    const std::unique_ptr<PGconn, Finish> connection(PQconnectdb(conninfo.c_str()));
    if (PQstatus(connection.get()) != CONNECTION_OK) give_up(PQerrorMessage(connection.get()));
    const std::unique_ptr<PGresult, Clear> result(PQexec(connection.get(), sql.c_str()));
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        give_up(PQerrorMessage(connection.get()));
    }
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

bool TestPostgres::wait_for(const std::string& sql, const std::string& expected,
                            int seconds) const {
    const auto deadline = Clock::now() + std::chrono::seconds(seconds);
    while (query(sql) != expected) {
        if (Clock::now() > deadline) return false;
        poll(nullptr, 0, 5);
    }
    return true;
}

}  // namespace pgb
