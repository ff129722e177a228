#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/budget_plan.h"
#include "config/model.h"
#include "proxy/io/server_questions.h"

namespace pgb {

/// One server of the file, and what it said. Neither answers nor trouble: it was not asked.
struct AskedServer {
    std::string place;
    std::vector<std::size_t> entries;  ///< indices in `databases`
    std::optional<ServerAnswers> answers = {};
    std::string trouble = {};  ///< Why it could not be asked.
};

/// A limit with the words for it.
struct NamedLimit {
    enum class Kind : std::uint8_t { server, role, database };
    Kind kind = Kind::server;
    std::string name;  ///< of the role or database
    config::Limit limit;
    std::vector<config::Remedy> remedies;
};

struct EntryPlan {
    config::EntryConnections connections;
    config::PoolShares shares;
};

/// What becomes of one server when all instances open what they may.
struct ServerPlan {
    AskedServer server;
    std::vector<EntryPlan> entries;
    std::vector<NamedLimit> limits;  ///< that of the server first
    std::vector<std::string> notes;  ///< Sentences: what counts, and what cannot be judged.

    /// The worst of all limits.
    [[nodiscard]] config::Fit fit() const;
    /// A plan that cannot be relied on is none.
    [[nodiscard]] bool is_good() const {
        return fit() == config::Fit::fits && server.trouble.empty();
    }
};

/// Pure: the file's numbers against the server's. A limit of the server is the least of
/// `fleet.database_connections` and, when it was asked, max_connections less what it keeps for others.
/// Others are at least as many as `fleet.other_connections`, and more where more are surely open.
[[nodiscard]] ServerPlan plan_server(const config::Config& config, AskedServer server);

}  // namespace pgb
