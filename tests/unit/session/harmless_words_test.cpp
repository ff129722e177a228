#include "proxy/session/harmless_words.h"

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/postgres.h"

namespace pgb::test {
namespace {

std::vector<std::string> listed_words() {
    std::ifstream file(PGB_SOURCE_DIR "/proxy/session/harmless_words.cpp");
    std::stringstream source;
    source << file.rdbuf();
    const std::string text = source.str();
    const std::size_t begin = text.find("kWords");
    const std::string list = text.substr(begin, text.find("});", begin) - begin);
    const std::regex quoted("\"([^\"]+)\"");
    std::vector<std::string> words;
    for (std::sregex_iterator it(list.begin(), list.end(), quoted), end; it != end; ++it) {
        words.push_back((*it)[1]);
    }
    return words;
}

std::string array_of(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "'" : ",'") + word + "'";
    return "array[" + list + "]";
}

TEST_CASE("harmless words: each is a keyword, a type or a function of pg_catalog") {
    const auto words = listed_words();
    REQUIRE(words.size() > 500);
    CHECK(TestPostgres::shared().query(
              "select coalesce(string_agg(w, ' '), '') from unnest(" + array_of(words) +
              ") w where not exists (select from pg_get_keywords() where word = w)"
              " and not exists (select from pg_proc where proname = w and pronamespace = "
              "'pg_catalog'::regnamespace)"
              " and not exists (select from pg_type where typname = w and typnamespace = "
              "'pg_catalog'::regnamespace)") == "");
}

// Whoever adds a volatile function to the list must look whether it leaves something behind in the
// session, and then write it here.
TEST_CASE("harmless words: the volatile functions are those that were looked at") {
    const std::string looked_at =
        "'clock_timestamp','current_query','currval','gen_random_uuid','lastval','lo_close','lo_"
        "creat','lo_create',"
        "'lo_from_bytea','lo_get','lo_lseek','lo_lseek64','lo_open','lo_put','lo_tell','lo_tell64',"
        "'lo_truncate','lo_truncate64','lo_unlink','loread','lowrite','nextval',"
        "'pg_advisory_unlock','pg_advisory_unlock_all','pg_advisory_unlock_shared',"
        "'pg_advisory_xact_lock','pg_advisory_xact_lock_shared','pg_blocking_pids',"
        "'pg_cancel_backend','pg_current_wal_flush_lsn','pg_current_wal_insert_lsn',"
        "'pg_current_wal_lsn','pg_database_size','pg_indexes_size','pg_is_in_recovery',"
        "'pg_last_wal_receive_lsn','pg_last_wal_replay_lsn','pg_last_xact_replay_timestamp',"
        "'pg_lock_status','pg_notify','pg_partition_ancestors','pg_partition_tree',"
        "'pg_relation_size','pg_sequence_last_value','pg_sleep','pg_sleep_for','pg_sleep_until',"
        "'pg_stat_clear_snapshot','pg_stat_reset','pg_table_size','pg_tablespace_size',"
        "'pg_terminate_backend','pg_total_relation_size','pg_try_advisory_xact_lock',"
        "'pg_try_advisory_xact_lock_shared','pg_xact_status','random','setval','timeofday',"
        "'txid_status'";
    CHECK(TestPostgres::shared().query(
              "select coalesce(string_agg(distinct proname, ' '), '') from pg_proc where "
              "pronamespace = 'pg_catalog'::regnamespace and provolatile = 'v' and proname = any(" +
              array_of(listed_words()) + ") and proname not in (" + looked_at + ")") == "");
}

TEST_CASE("harmless words: functions that change the session are not among them") {
    for (const char* word :
         {"set_config", "pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock",
          "pg_try_advisory_lock_shared", "setseed", "query_to_xml", "cursor_to_xml", "dblink",
          "pg_reload_conf", "pg_export_snapshot", "pg_replication_origin_session_setup",
          "binary_upgrade_set_next_pg_type_oid", "database_to_xml", "ts_stat", "ts_rewrite",
          "lo_import", "execute", "no_such_function"}) {
        INFO(word);
        CHECK_FALSE(is_harmless_before_parenthesis(word));
    }
}

TEST_CASE(
    "harmless words: any case is the same word, and no longer word is taken for its beginning") {
    CHECK(is_harmless_before_parenthesis("LOWER"));
    CHECK(is_harmless_before_parenthesis("Coalesce"));
    CHECK_FALSE(is_harmless_before_parenthesis("lower_it"));
    CHECK_FALSE(is_harmless_before_parenthesis("lowe"));
    CHECK_FALSE(is_harmless_before_parenthesis(""));
    CHECK_FALSE(is_harmless_before_parenthesis(std::string(200, 'a')));
}

}  // namespace
}  // namespace pgb::test
