#include "proxy/session/harmless_words.h"

#include <algorithm>
#include <array>

#include "protocol/sql_name.h"

namespace pgb {

namespace {

// Sorted. Keywords and type names that may stand before a parenthesis, and the functions of
// PostgreSQL 15's pg_catalog that are immutable or stable, or volatile and known to leave nothing
// behind in the session. Those that run a text they are given (query_to_xml) are not among them.
// clang-format off
constexpr auto kWords = std::to_array<std::string_view>({
    "abbrev", "abs", "acldefault", "aclexplode", "acos", "acosd", "acosh", "age", "all", "always",
    "and", "any", "area", "array", "array_agg", "array_dims", "array_fill", "array_length",
    "array_lower", "array_ndims", "array_position", "array_positions", "array_remove",
    "array_replace", "array_to_json", "array_to_string", "array_to_tsvector", "array_upper", "as",
    "ascii", "asin", "asind", "asinh", "atan", "atan2", "atan2d", "atand", "atanh", "avg",
    "between", "bit", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool_and",
    "bool_or", "box", "bpchar", "broadcast", "by", "cardinality", "case", "cash_words", "cast",
    "cbrt", "ceil", "ceiling", "center", "char", "char_length", "character", "character_length",
    "check", "chr", "cidr", "circle", "clock_timestamp", "coalesce", "col_description", "concat",
    "concat_ws", "conflict", "convert", "convert_from", "convert_to", "corr", "cos", "cosd",
    "cosh", "cot", "cotd", "count", "covar_pop", "covar_samp", "cume_dist", "current_database",
    "current_query", "current_schema", "current_schemas", "current_setting", "current_user",
    "currval", "database_to_xml_and_xmlschema", "database_to_xmlschema", "date", "date_bin",
    "date_part", "date_trunc", "datemultirange", "daterange", "daterange_canonical",
    "daterange_subdiff", "decimal", "decode", "default", "degrees", "dense_rank", "dexp",
    "diagonal", "diameter", "distinct", "div", "dlog1", "dlog10", "do", "dround", "dtrunc", "else",
    "encode", "enum_first", "enum_last", "enum_range", "every", "except", "exclude", "exists",
    "exp", "extract", "factorial", "family", "filter", "first_value", "float4", "float8", "floor",
    "fmgr_c_validator", "fmgr_internal_validator", "fmgr_sql_validator", "foreign", "format",
    "format_type", "from", "gcd", "gen_random_uuid", "generate_series", "generate_subscripts",
    "generated", "get_bit", "get_byte", "get_current_ts_config", "getdatabaseencoding",
    "getpgusername", "greatest", "group", "grouping", "groups", "has_any_column_privilege",
    "has_column_privilege", "has_database_privilege", "has_foreign_data_wrapper_privilege",
    "has_function_privilege", "has_language_privilege", "has_parameter_privilege",
    "has_schema_privilege", "has_sequence_privilege", "has_server_privilege",
    "has_table_privilege", "has_tablespace_privilege", "has_type_privilege", "having", "height",
    "host", "hostmask", "identity", "if", "ilike", "in", "index", "inet", "inet_client_addr",
    "inet_client_port", "inet_server_addr", "inet_server_port", "inherits", "initcap", "int2",
    "int4", "int4inc", "int4multirange", "int4range", "int4range_canonical", "int4range_subdiff",
    "int8", "int8_sum", "int8multirange", "int8range", "int8range_canonical", "int8range_subdiff",
    "intersect", "interval", "is", "is_normalized", "isclosed", "isempty", "isfinite",
    "ishorizontal", "isopen", "isparallel", "isperp", "isvertical", "join", "json", "json_agg",
    "json_array_elements", "json_array_elements_text", "json_array_length", "json_build_array",
    "json_build_object", "json_each", "json_each_text", "json_object", "json_object_agg",
    "json_object_keys", "json_populate_record", "json_populate_recordset", "json_strip_nulls",
    "json_to_record", "json_to_recordset", "json_to_tsvector", "json_typeof", "jsonb", "jsonb_agg",
    "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_array_length", "jsonb_build_array",
    "jsonb_build_object", "jsonb_each", "jsonb_each_text", "jsonb_insert", "jsonb_object",
    "jsonb_object_agg", "jsonb_object_keys", "jsonb_path_exists", "jsonb_path_exists_tz",
    "jsonb_path_match", "jsonb_path_match_tz", "jsonb_path_query", "jsonb_path_query_array",
    "jsonb_path_query_array_tz", "jsonb_path_query_first", "jsonb_path_query_first_tz",
    "jsonb_path_query_tz", "jsonb_populate_record", "jsonb_populate_recordset", "jsonb_pretty",
    "jsonb_set", "jsonb_set_lax", "jsonb_strip_nulls", "jsonb_to_record", "jsonb_to_recordset",
    "jsonb_to_tsvector", "jsonb_typeof", "justify_days", "justify_hours", "justify_interval",
    "key", "lag", "last_value", "lastval", "lateral", "lcm", "lead", "least", "left", "length",
    "like", "like_escape", "limit", "line", "ln", "lo_close", "lo_creat", "lo_create",
    "lo_from_bytea", "lo_get", "lo_lseek", "lo_lseek64", "lo_open", "lo_put", "lo_tell",
    "lo_tell64", "lo_truncate", "lo_truncate64", "lo_unlink", "log", "log10", "loread", "lower",
    "lower_inc", "lower_inf", "lowrite", "lpad", "lseg", "ltrim", "macaddr", "macaddr8_set7bit",
    "make_date", "make_interval", "make_time", "make_timestamp", "make_timestamptz", "makeaclitem",
    "masklen", "materialized", "max", "md5", "min", "min_scale", "mod", "mode", "money",
    "multirange", "mxid_age", "name", "nameconcatoid", "netmask", "network", "nextval",
    "normalize", "not", "notlike", "now", "npoints", "nth_value", "ntile", "nullif",
    "num_nonnulls", "num_nulls", "numeric", "numeric_div_trunc", "numeric_exp", "numeric_inc",
    "numeric_ln", "numeric_log", "numeric_sqrt", "nummultirange", "numnode", "numrange",
    "numrange_subdiff", "obj_description", "octet_length", "offset", "oid", "oidvectortypes", "on",
    "only", "options", "or", "order", "over", "overlaps", "overlay", "parse_ident", "partition",
    "pclose", "percent_rank", "percentile_cont", "percentile_disc", "pg_advisory_unlock",
    "pg_advisory_unlock_all", "pg_advisory_unlock_shared", "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared", "pg_available_extension_versions", "pg_available_extensions",
    "pg_backend_pid", "pg_blocking_pids", "pg_cancel_backend", "pg_char_to_encoding",
    "pg_client_encoding", "pg_collation_for", "pg_collation_is_visible", "pg_column_compression",
    "pg_column_is_updatable", "pg_column_size", "pg_conf_load_time", "pg_config",
    "pg_conversion_is_visible", "pg_current_snapshot", "pg_current_wal_flush_lsn",
    "pg_current_wal_insert_lsn", "pg_current_wal_lsn", "pg_current_xact_id",
    "pg_current_xact_id_if_assigned", "pg_cursor", "pg_database_size", "pg_describe_object",
    "pg_encoding_max_length", "pg_encoding_to_char", "pg_event_trigger_ddl_commands",
    "pg_event_trigger_dropped_objects", "pg_event_trigger_table_rewrite_oid",
    "pg_event_trigger_table_rewrite_reason", "pg_extension_update_paths", "pg_filenode_relation",
    "pg_function_is_visible", "pg_get_catalog_foreign_keys", "pg_get_constraintdef", "pg_get_expr",
    "pg_get_function_arg_default", "pg_get_function_arguments",
    "pg_get_function_identity_arguments", "pg_get_function_result", "pg_get_function_sqlbody",
    "pg_get_functiondef", "pg_get_indexdef", "pg_get_keywords", "pg_get_object_address",
    "pg_get_partition_constraintdef", "pg_get_partkeydef", "pg_get_publication_tables",
    "pg_get_replica_identity_index", "pg_get_replication_slots", "pg_get_ruledef",
    "pg_get_serial_sequence", "pg_get_statisticsobjdef", "pg_get_statisticsobjdef_columns",
    "pg_get_statisticsobjdef_expressions", "pg_get_triggerdef", "pg_get_userbyid",
    "pg_get_viewdef", "pg_has_role", "pg_identify_object", "pg_identify_object_as_address",
    "pg_index_column_has_property", "pg_index_has_property", "pg_indexam_has_property",
    "pg_indexam_progress_phasename", "pg_indexes_size", "pg_is_in_recovery",
    "pg_is_other_temp_schema", "pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp", "pg_listening_channels", "pg_lock_status", "pg_lsn",
    "pg_mcv_list_items", "pg_my_temp_schema", "pg_notify", "pg_opclass_is_visible",
    "pg_operator_is_visible", "pg_opfamily_is_visible", "pg_options_to_table",
    "pg_partition_ancestors", "pg_partition_root", "pg_partition_tree", "pg_postmaster_start_time",
    "pg_prepared_statement", "pg_relation_filenode", "pg_relation_filepath",
    "pg_relation_is_publishable", "pg_relation_is_updatable", "pg_relation_size",
    "pg_replication_origin_oid", "pg_sequence_last_value", "pg_sequence_parameters",
    "pg_settings_get_flags", "pg_show_all_settings", "pg_size_bytes", "pg_size_pretty", "pg_sleep",
    "pg_sleep_for", "pg_sleep_until", "pg_snapshot_xip", "pg_snapshot_xmax", "pg_snapshot_xmin",
    "pg_stat_clear_snapshot", "pg_stat_reset", "pg_statistics_obj_is_visible",
    "pg_table_is_visible", "pg_table_size", "pg_tablespace_databases", "pg_tablespace_location",
    "pg_tablespace_size", "pg_terminate_backend", "pg_timezone_abbrevs", "pg_timezone_names",
    "pg_total_relation_size", "pg_trigger_depth", "pg_try_advisory_xact_lock",
    "pg_try_advisory_xact_lock_shared", "pg_ts_config_is_visible", "pg_ts_dict_is_visible",
    "pg_ts_parser_is_visible", "pg_ts_template_is_visible", "pg_type_is_visible", "pg_typeof",
    "pg_visible_in_snapshot", "pg_wal_lsn_diff", "pg_walfile_name", "pg_walfile_name_offset",
    "pg_xact_status", "phraseto_tsquery", "pi", "plainto_tsquery", "point", "polygon", "popen",
    "position", "postgresql_fdw_validator", "pow", "power", "precision", "primary", "querytree",
    "quote_ident", "quote_literal", "quote_nullable", "radians", "radius", "random", "range",
    "range_agg", "range_intersect_agg", "range_merge", "rank", "regexp_count", "regexp_instr",
    "regexp_like", "regexp_match", "regexp_matches", "regexp_replace", "regexp_split_to_array",
    "regexp_split_to_table", "regexp_substr", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "repeat",
    "replace", "returning", "reverse", "right", "round", "row", "row_number",
    "row_security_active", "row_to_json", "rows", "rpad", "rtrim", "satisfies_hash_partition",
    "scale", "schema_to_xml", "schema_to_xml_and_xmlschema", "schema_to_xmlschema", "select",
    "session_user", "set", "set_bit", "set_byte", "set_masklen", "setval", "setweight", "sha224",
    "sha256", "sha384", "sha512", "shobj_description", "sign", "similar", "similar_escape",
    "similar_to_escape", "sin", "sind", "sinh", "slope", "some", "split_part", "sqrt",
    "statement_timestamp", "stddev", "stddev_pop", "stddev_samp", "string_agg", "string_to_array",
    "string_to_table", "strip", "strpos", "substr", "substring", "sum", "table_to_xml",
    "table_to_xml_and_xmlschema", "table_to_xmlschema", "tablesample", "tan", "tand", "tanh",
    "text", "textlen", "then", "time", "timeofday", "timestamp", "timestamptz", "timetz",
    "timezone", "to_ascii", "to_char", "to_date", "to_hex", "to_json", "to_jsonb", "to_number",
    "to_regclass", "to_regcollation", "to_regnamespace", "to_regoper", "to_regoperator",
    "to_regproc", "to_regprocedure", "to_regrole", "to_regtype", "to_timestamp", "to_tsquery",
    "to_tsvector", "transaction_timestamp", "translate", "treat", "trim", "trim_array",
    "trim_scale", "trunc", "ts_debug", "ts_delete", "ts_filter", "ts_headline", "ts_lexize",
    "ts_parse", "ts_rank", "ts_rank_cd", "ts_token_type", "tsmultirange", "tsquery_phrase",
    "tsrange", "tsrange_subdiff", "tstzmultirange", "tstzrange", "tstzrange_subdiff",
    "tsvector_to_array", "txid_current", "txid_current_if_assigned", "txid_current_snapshot",
    "txid_snapshot_xip", "txid_snapshot_xmax", "txid_snapshot_xmin", "txid_status",
    "txid_visible_in_snapshot", "union", "unique", "unistr", "unnest", "upper", "upper_inc",
    "upper_inf", "using", "values", "var_pop", "var_samp", "varbit", "varchar", "variance",
    "version", "websearch_to_tsquery", "when", "where", "width", "width_bucket", "with", "within",
    "xml", "xml_is_well_formed", "xml_is_well_formed_content", "xml_is_well_formed_document",
    "xmlagg", "xmlattributes", "xmlcomment", "xmlconcat", "xmlelement", "xmlexists", "xmlforest",
    "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmlvalidate", "xpath", "xpath_exists", "zone",
});
// clang-format on

static_assert(std::is_sorted(kWords.begin(), kWords.end()));

// The longest of them; anything longer needs no search.
constexpr std::size_t kLongest = 48;

}  // namespace

bool is_harmless_before_parenthesis(std::string_view word) {
    if (word.size() > kLongest) return false;
    std::array<char, kLongest> folded{};
    for (std::size_t i = 0; i < word.size(); ++i) {
        folded[i] = lower_case(word[i]);
    }
    return std::binary_search(kWords.begin(), kWords.end(),
                              std::string_view(folded.data(), word.size()));
}

}  // namespace pgb
