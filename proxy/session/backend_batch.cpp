#include "proxy/session/backend_batch.h"

#include "protocol/writer.h"

namespace pgb {

namespace {

constexpr std::string_view kSavepointStatement = "pgb_savepoint";
constexpr std::string_view kBarrierStatement = "pgb_barrier";
constexpr std::string_view kSettingStatement = "pgb_setting";
constexpr std::string_view kProbeStatement = "pgb_probe";
constexpr std::string_view kLocksStatement = "pgb_locks";
constexpr std::string_view kLocksText =
    "SELECT FROM pg_catalog.pg_locks WHERE locktype OPERATOR(pg_catalog.=) 'advisory' "
    "AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid() LIMIT 1";

std::string begin_statement(std::uint8_t modes_index) {
    return "pgb_begin_" + std::to_string(modes_index);
}

void append_bind(std::string& out, ReplyLedger& ledger, std::string_view statement) {
    MessageWriter(out)
        .begin(FrontendType::bind)
        .cstring("")
        .cstring(statement)
        .u16(0)
        .u16(0)
        .u16(0)
        .end();
    ledger.owe(Owed::bind, Origin::own);
}

void append_execute(std::string& out, ReplyLedger& ledger) {
    MessageWriter(out).begin(FrontendType::execute).cstring("").u32(0).end();
    ledger.owe(Owed::execute, Origin::own);
}

void append_query(std::string& out, ReplyLedger& ledger, std::string_view text) {
    MessageWriter(out).begin(FrontendType::query).cstring(text).end();
    ledger.owe(Owed::query, Origin::own);
}

// A statement for once, under a name of the proxy's.
void append_statement(std::string& out, ReplyLedger& ledger, std::string_view name,
                      std::string_view text) {
    append_parse(out, ledger, name, text);
    append_bind(out, ledger, name);
    append_execute(out, ledger);
    append_close_statement(out, ledger, name);
}

}  // namespace

bool looks_own(std::string_view name) { return name.substr(0, 4) == "pgb_"; }

bool append_begin(std::string& out, ReplyLedger& ledger, const VirtualBlock& block,
                  const BackendBook& book) {
    const std::uint8_t index = block.modes().index();
    const std::string name = begin_statement(index);
    const bool prepare = (book.begin_prepared >> index & 1) == 0;
    if (prepare) {
        // The book forgets on any doubt, so a statement of that name may be there after all.
        append_close_statement(out, ledger, name);
        append_parse(out, ledger, name, block.modes().begin_text());
    }
    append_bind(out, ledger, name);
    append_execute(out, ledger);
    for (const std::string& savepoint : block.savepoints()) {
        append_close_statement(out, ledger, kSavepointStatement);
        append_parse(out, ledger, kSavepointStatement, savepoint);
        append_bind(out, ledger, kSavepointStatement);
        append_execute(out, ledger);
    }
    return prepare;
}

void append_settings(std::string& out, ReplyLedger& ledger, const SettingsBook& in_force,
                     const SettingsBook& wanted) {
    const auto append = [&](std::string_view text) {
        append_statement(out, ledger, kSettingStatement, text);
    };
    // RESET ALL undoes neither of the first two, and they may be what allows the rest.
    if (in_force.has("session_authorization")) append("RESET SESSION AUTHORIZATION");
    if (in_force.has("session_authorization") || in_force.has("role")) append("RESET ROLE");
    if (!in_force.empty()) append("RESET ALL");
    wanted.for_each(append);
    append_sync(out, ledger);
}

void append_lock_question(std::string& out, ReplyLedger& ledger) {
    append_statement(out, ledger, kLocksStatement, kLocksText);
    append_sync(out, ledger);
}

void append_batch_abort(std::string& out, ReplyLedger& ledger) {
    append_copy_fail(out, ledger);
    append_bind(out, ledger, kMissingStatement);
    append_sync(out, ledger);
}

void append_flush(Outbox& out) { out.to_backend(std::string_view("H\0\0\0\4", 5)); }

void append_copy_fail(std::string& out, ReplyLedger& ledger, std::string_view why) {
    MessageWriter(out).begin(FrontendType::copy_fail).cstring(why).end();
    ledger.owe(Owed::copy_end, Origin::own);
}

void append_sync(std::string& out, ReplyLedger& ledger) {
    MessageWriter(out).begin(FrontendType::sync).end();
    ledger.owe(Owed::sync, Origin::own);
}

void append_rollback(std::string& out, ReplyLedger& ledger) {
    append_query(out, ledger, "ROLLBACK");
}

void append_discard_all(std::string& out, ReplyLedger& ledger) {
    append_query(out, ledger, "DISCARD ALL");
}

void append_barrier(std::string& out, ReplyLedger& ledger) {
    append_close_statement(out, ledger, kBarrierStatement);
    append_sync(out, ledger);
}

void append_probe(std::string& out, ReplyLedger& ledger) {
    append_statement(out, ledger, kProbeStatement, "SELECT SESSION_USER");
    append_sync(out, ledger);
}

void append_parse(std::string& out, ReplyLedger& ledger, std::string_view name,
                  std::string_view text) {
    MessageWriter(out).begin(FrontendType::parse).cstring(name).cstring(text).u16(0).end();
    ledger.owe(Owed::parse, Origin::own);
}

void append_close_statement(std::string& out, ReplyLedger& ledger, std::string_view name) {
    MessageWriter(out).begin(FrontendType::close).u8('S').cstring(name).end();
    ledger.owe(Owed::close, Origin::own);
}

}  // namespace pgb
