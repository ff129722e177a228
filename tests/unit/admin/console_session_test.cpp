#include <string>
#include <string_view>

#include "protocol/writer.h"
#include "proxy/admin/console/session.h"
#include "proxy/admin/console/views.h"
#include "tests/support/catch.h"

using namespace pgb;

namespace {

std::string nothing(std::string_view, std::span<const std::string_view>) { return {}; }

std::string query(std::string_view text) {
    std::string bytes;
    MessageWriter(bytes).begin(FrontendType::query).cstring(text).end();
    return bytes;
}

std::string parse(std::string_view name, std::string_view text) {
    std::string bytes;
    MessageWriter(bytes).begin(FrontendType::parse).cstring(name).cstring(text).u16(0).end();
    return bytes;
}

std::string bind(std::string_view statement, std::uint16_t format = 0) {
    std::string bytes;
    MessageWriter(bytes)
        .begin(FrontendType::bind)
        .cstring("")
        .cstring(statement)
        .u16(0)
        .u16(0)
        .u16(1)
        .u16(format)
        .end();
    return bytes;
}

std::string execute(std::uint32_t rows) {
    std::string bytes;
    MessageWriter(bytes).begin(FrontendType::execute).cstring("").u32(rows).end();
    return bytes;
}

std::string batch_end() { return {"S\0\0\0\4", 5}; }

/// The type bytes of what was said; of a ReadyForQuery also its status.
std::string kinds(std::string_view bytes) {
    static const HeadTable table = backend_heads(1 << 20);
    Framer framer(table);
    Frame frame;
    std::string result;
    while (framer.next(bytes, frame) == FrameStatus::frame) {
        result += frame.type;
        if (frame.type == 'Z') result += frame.body();
        bytes.remove_prefix(frame.bytes.size());
    }
    CHECK(bytes.empty());
    return result;
}

struct Client {
    ConsoleSession session{nothing};
    ConsoleReply reply;
    int asked = 0;

    /// Everything is taken and every command answered by `reply`.
    std::string send(std::string_view bytes) {
        std::string out;
        while (!session.is_closed()) {
            if (session.wanted() != nullptr) {
                ++asked;
                session.answer(reply, out);
                continue;
            }
            const std::size_t taken = session.on_bytes(bytes, out);
            if (taken == 0) break;
            bytes.remove_prefix(taken);
        }
        return out;
    }
};

}  // namespace

TEST_CASE("console session: a command is wanted, and nothing is taken before its answer") {
    ConsoleSession session(nothing);
    const std::string two = query("show version; reload") + query("show help");
    std::string out;
    const std::size_t first = query("show version; reload").size();
    CHECK(session.on_bytes(two, out) == first);
    REQUIRE(session.wanted() != nullptr);
    CHECK(session.wanted()->view == ConsoleView::version);
    CHECK(session.on_bytes(std::string_view(two).substr(first), out) == 0);
    CHECK(out.empty());
    session.answer({.rows = version_rows("1")}, out);
    CHECK(kinds(out) == "TDC");
    REQUIRE(session.wanted() != nullptr);
    CHECK(session.wanted()->verb == ConsoleVerb::reload);
    session.answer({.notices = {{"NOTICE", "a"}, {"WARNING", "b"}}}, out);
    CHECK(kinds(out) == "TDCNNCZI");
    CHECK(session.wanted() == nullptr);
}

TEST_CASE("console session: an error ends a simple query, and what is behind it is not done") {
    Client client;
    client.reply = refuse_command("42704", "no");
    CHECK(kinds(client.send(query("kill 1; reload"))) == "EZI");
    CHECK(client.asked == 1);
    CHECK(kinds(client.send(query(" ; ") + query("bad"))) == "IZIEZI");
}

TEST_CASE("console session: an error in a batch skips to its sync") {
    Client client;
    client.reply = {.rows = version_rows("1")};
    const std::string good = parse("", "show version") + bind("") + execute(0) + batch_end();
    CHECK(kinds(client.send(parse("", "bad") + bind("") + execute(0) + query("reload") +
                            batch_end() + good)) == "EZI12DCZI");
    CHECK(client.asked == 1);
    CHECK(kinds(client.send(bind("unknown") + batch_end())) == "EZI");
    CHECK(kinds(client.send(parse("", "show help; show help") + batch_end())) == "EZI");
}

TEST_CASE("console session: a portal is suspended at its row limit and goes on") {
    Client client;
    client.reply = {.rows = help_rows()};
    const std::size_t count = client.reply.rows.size();
    const std::string said = kinds(
        client.send(parse("", "show help") + bind("") + execute(3) + execute(0) + batch_end()));
    CHECK(said == "12DDDs" + std::string(count - 3, 'D') + "CZI");
    CHECK(client.asked == 1);
}

TEST_CASE("console session: a failed block refuses everything but its end") {
    Client client;
    client.reply = {.rows = version_rows("1")};
    CHECK(kinds(client.send(query("begin"))) == "CZT");
    CHECK(kinds(client.send(query("show version"))) == "TDCZT");
    CHECK(kinds(client.send(query("bad"))) == "EZE");
    CHECK(kinds(client.send(query("show version"))) == "EZE");
    CHECK(client.send(query("commit")).find("ROLLBACK") != std::string::npos);
    CHECK(kinds(client.send(query("select 1"))) == "TDCZI");
}

TEST_CASE("console session: numbers go out in binary when they are asked for so") {
    Client client;
    const std::string said =
        client.send(parse("", "select 1") + bind("", 1) + execute(0) + batch_end());
    CHECK(kinds(said) == "12DCZI");
    CHECK(said.find(std::string("\0\0\0\10\0\0\0\0\0\0\0\1", 12)) != std::string::npos);
}

TEST_CASE("console session: what nobody can understand ends it") {
    for (const std::string& bytes : {std::string("?\0\0\0\4", 5), std::string("Q\0\0\0\1", 5),
                                     std::string("p\0\0\0\5\0", 6)}) {
        Client client;
        CHECK(kinds(client.send(bytes)) == "E");
        CHECK(client.session.is_closed());
    }
    Client client;
    CHECK(client.send(std::string("X\0\0\0\4", 5)).empty());
    CHECK(client.session.is_closed());
}

TEST_CASE("console session: a long text and many names are refused") {
    Client client;
    CHECK(kinds(client.send(query(std::string(100000, ' ')))) == "EZI");
    std::string many;
    for (int i = 0; i < 300; ++i) many += parse("s" + std::to_string(i), "show help");
    const std::string said = kinds(client.send(many + batch_end()));
    CHECK(said == std::string(ConsoleSession::kNamesMax, '1') + "EZI");
}

TEST_CASE("console: what clients call themselves cannot move a terminal's cursor") {
    CHECK(shown("a\x1b[2Jb\nc") == "a?[2Jb?c");
    CHECK(shown("\xc3\xa9\xff\xe2\x82") == "\xc3\xa9???");
    CHECK(shown("\xc2\x9b") == "??");
    CHECK(shown("abcdef", 4) == "abcd...");
    CHECK(shown("ab\xc3\xa9", 3) == "ab...");
}

TEST_CASE("console: views have as many values in a row as columns") {
    Snapshot snapshot;
    snapshot.workloads.resize(1);
    snapshot.databases.resize(1);
    const ConsoleExtras extras{.queue_waits = {std::chrono::seconds(1)}, .pauses = {"active"}};
    HolderList list;
    list.holders.resize(1);
    const BackendView backends[1] = {};
    const ConfigView keys[1] = {};
    const auto fits = [](ConsoleView view, const std::vector<Row>& rows) {
        REQUIRE_FALSE(rows.empty());
        CHECK(rows[0].size() == columns_of(view).size());
    };
    fits(ConsoleView::workloads, workload_rows(snapshot, extras));
    fits(ConsoleView::pools, pool_rows(snapshot, extras));
    fits(ConsoleView::holders, holder_rows(list));
    fits(ConsoleView::waiters, waiter_rows({WaiterView{}}));
    fits(ConsoleView::clients, client_rows({ClientView{}}));
    fits(ConsoleView::pins, pin_rows({PinView{}}));
    fits(ConsoleView::backends, backend_rows(backends));
    fits(ConsoleView::stats, stat_rows(snapshot));
    fits(ConsoleView::config, config_rows(keys));
    fits(ConsoleView::version, version_rows("1"));
    fits(ConsoleView::help, help_rows());
}
