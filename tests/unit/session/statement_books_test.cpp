#include "proxy/session/backend_statements.h"
#include "proxy/session/shape_reader.h"
#include "proxy/session/statement_registry.h"
#include "proxy/session/statement_target.h"
#include "proxy/session/unnamed_statement.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

const SharedStatement& intern(StatementRegistry& registry, std::string_view text,
                              RowShape rows = kNoRows, std::uint64_t settings = 0) {
    return registry.intern({.text = text, .types = {}, .settings = settings, .rows = rows}, {});
}

TEST_CASE("statement registry: equal keys are one statement, and any difference makes another") {
    StatementRegistry registry;
    const SharedStatement& one = intern(registry, "select 1");
    CHECK(&intern(registry, "select 1") == &one);
    CHECK(intern(registry, "select 2").id != one.id);
    CHECK(intern(registry, "select 1", 7).id != one.id);
    CHECK(intern(registry, "select 1", kNoRows, 7).id != one.id);
    CHECK(registry.intern({.text = "select 1", .types = "1234", .settings = 0, .rows = kNoRows}, {})
              .id != one.id);
    CHECK(registry.size() == 5);
}

TEST_CASE("statement registry: what was said of an untried statement is part of it") {
    StatementRegistry registry;
    const auto accept = [](std::string_view types) {
        return std::make_shared<const AcceptedParse>(AcceptedParse{std::string(types), false});
    };
    StatementKey key{.text = "x", .types = {}, .settings = 0, .rows = kUntriedRows};
    key.accepted = accept("abcd");
    const SharedStatement& one = registry.intern(key, {});
    CHECK(&registry.intern(key, {}) == &one);
    key.accepted = accept("efgh");
    const SharedStatement& other = registry.intern(key, {});
    CHECK(other.id != one.id);
    CHECK(one.accepted->types == "abcd");
    registry.release(other);
    registry.release(one);
    registry.release(one);
    CHECK(registry.size() == 2);
}

TEST_CASE("statement registry: what nobody uses stays until room is needed, oldest out first") {
    StatementRegistry registry({.session_max = 10, .backend_max = 10, .memory_max = 1000});
    const StatementId first = intern(registry, "select 1").id;
    registry.release(intern(registry, "select 1"));
    registry.release(intern(registry, "select 1"));
    const SharedStatement& again = intern(registry, "select 1");
    CHECK(again.id == first);
    registry.release(again);
    registry.release(again);
    registry.release(intern(registry, "select 2"));
    registry.release(intern(registry, "select 3"));
    registry.release(intern(registry, "select 4"));
    CHECK(registry.memory() <= 1000);
    CHECK(intern(registry, "select 1").id != first);
}

TEST_CASE("statement registry: a statement in use outlives the bound, and then there is no room") {
    StatementRegistry registry({.session_max = 10, .backend_max = 10, .memory_max = 700});
    const SharedStatement& kept = intern(registry, "select 1");
    intern(registry, "select 2");
    intern(registry, "select 3");
    CHECK(kept.text == "select 1");
    CHECK_FALSE(registry.has_room(10));
}

TEST_CASE("backend statements: the least recently used makes room and is to be closed") {
    BackendStatements statements;
    CHECK(statements.map(1, 11, 2) == 0);
    CHECK(statements.map(2, 12, 2) == 0);
    CHECK(statements.number_of(1) == 11);
    CHECK(statements.map(3, 13, 2) == 1);
    CHECK(statements.number_of(2) == 0);
    CHECK(statements.number_of(1) == 11);
    CHECK(statements.take_retired() == std::vector<std::string>{"pgb_s12"});
    CHECK_FALSE(statements.has_retired());
}

TEST_CASE("backend statements: a statement made again is closed under its older number") {
    BackendStatements statements;
    statements.map(1, 11, 2);
    statements.map(1, 15, 2);
    CHECK(statements.number_of(1) == 15);
    CHECK(statements.take_retired() == std::vector<std::string>{"pgb_s11"});
}

TEST_CASE("backend statements: what may be gone is not used and still closed; numbers go on") {
    BackendStatements statements;
    const std::uint64_t number = statements.fresh_number();
    statements.map(1, number, 2);
    statements.doubt_all();
    CHECK(statements.number_of(1) == 0);
    CHECK(statements.has_retired());
    statements.forget_all();
    CHECK_FALSE(statements.has_retired());
    CHECK(statements.fresh_number() > number);
}

TEST_CASE("unnamed statement: what was sent counts when it is answered, and not when skipped") {
    UnnamedStatement unnamed;
    CHECK(unnamed.latest().token == 0);
    unnamed.sent(1, "first", {});
    CHECK(unnamed.latest().token == 1);
    unnamed.confirmed();
    unnamed.sent(2, "second", {});
    unnamed.sent(3, "third", {});
    CHECK(unnamed.latest().message == "third");
    unnamed.skipped();
    unnamed.skipped();
    CHECK(unnamed.latest().token == 1);
    CHECK(unnamed.latest().message == "first");
    unnamed.sent(4, "fourth", {});
    unnamed.failed();
    CHECK(unnamed.latest().token == 0);
}

TEST_CASE("unnamed statement: one that is too long is known, but not kept") {
    UnnamedStatement unnamed;
    unnamed.set(1, std::string(UnnamedStatement::kMessageMax + 1, 'x'), {});
    CHECK(unnamed.latest().token == 1);
    CHECK(unnamed.latest().message.empty());
}

std::string column(std::string_view name, char table, char type, char modifier) {
    std::string bytes(name);
    bytes += std::string("\0\0\0\0", 4) + table + std::string("\0\0\0\0\0", 5) + type +
             std::string("\0\4\0\0\0", 5) + modifier + std::string("\0\0", 2);
    return bytes;
}

RowShape shape(const std::string& columns, std::size_t cut) {
    const std::string message = std::string("T\0\0\0\0\0\1", 7) + columns;
    ShapeReader reader;
    reader.start();
    reader.read('t', true, std::string_view("t\0\0\0\12\0\1\0\0\0\27", 11));
    reader.read('T', true, std::string_view(message).substr(0, cut));
    reader.read('T', false, std::string_view(message).substr(cut));
    CHECK(reader.types() == std::string("\0\0\0\27", 4));
    return reader.rows();
}

TEST_CASE("shape reader: names, types and modifiers make a shape, tables do not, nor do cuts") {
    const std::string columns = column("a", 1, 23, 0);
    const RowShape whole = shape(columns, 7 + columns.size());
    CHECK(whole > kUnknownRows);
    for (std::size_t cut = 5; cut < 7 + columns.size(); ++cut) CHECK(shape(columns, cut) == whole);
    CHECK(shape(column("a", 2, 23, 0), 9) == whole);
    CHECK(shape(column("b", 1, 23, 0), 9) != whole);
    CHECK(shape(column("a", 1, 25, 0), 9) != whole);
    CHECK(shape(column("a", 1, 23, 5), 9) != whole);
    CHECK(shape(columns + column("b", 1, 23, 0), 9) != whole);
    ShapeReader nothing;
    nothing.start();
    CHECK(nothing.rows() == kNoRows);
}

TEST_CASE("statement target: PREPARE, EXECUTE, DEALLOCATE and DISCARD ALL say whom they mean") {
    using Kind = StatementTarget::Kind;
    const auto reads = [](std::string_view text, Kind kind, std::string_view name, bool alone) {
        const StatementTarget target = read_statement_target(text);
        INFO(text);
        CHECK(target.kind == kind);
        CHECK(target.name == name);
        CHECK(target.alone == alone);
    };
    reads("deallocate A;", Kind::deallocate, "a", true);
    reads("DEALLOCATE PREPARE \"A\"\"b\" -- c", Kind::deallocate, "A\"b", true);
    reads("deallocate prepare", Kind::deallocate, "prepare", true);
    reads("deallocate a b", Kind::deallocate, "a", false);
    reads("deallocate all", Kind::deallocate_all, "", true);
    reads("deallocate \"all\"", Kind::deallocate, "all", true);
    reads("/* c */ discard all ; ;", Kind::discard_all, "", true);
    reads("discard all x", Kind::discard_all, "", false);
    reads("discard plans", Kind::none, "", false);
    reads("execute a (1)", Kind::execute, "a", false);
    reads("prepare p as select 1", Kind::prepare, "p", false);
    reads("select 1", Kind::none, "", false);
}

}  // namespace
}  // namespace pgb::test
