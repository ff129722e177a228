#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace pgb::test {

/// One connection to a real PostgreSQL that is used again and again, as a pooled backend is: runs
/// a text and says what of it is still there when its transaction is over.
class LeftBehind {
public:
    explicit LeftBehind(const std::string& conninfo);

    /// What the text left behind, in words; empty: nothing. The connection is clean afterwards.
    [[nodiscard]] std::string after(const std::string& text);
    /// The first value of the first row, or the error's words.
    [[nodiscard]] std::string value(const std::string& sql);

private:
    struct Finish {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    void run(const std::string& text);

    std::unique_ptr<PGconn, Finish> connection_;
};

}  // namespace pgb::test
