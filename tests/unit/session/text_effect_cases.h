#pragma once

#include <array>
#include <string_view>

namespace pgb::test {

/// What is expected of a text: `clean` leaves the backend as it was; `pinned` leaves state of a
/// kind that the session must keep; `reset` may have left what nobody can see.
enum class Expected { clean, pinned, reset };

struct EffectCase {
    Expected expected;
    std::string_view text;
};

using enum Expected;

inline constexpr auto kEffectCases = std::to_array<EffectCase>({
    // Plain work.
    {clean, "select 1"},
    {clean, "select lower('A'), count(*), now() from t where a in (1, 2)"},
    {clean, "insert into t(a) values (1)"},
    {clean, "insert into public.t(a) values (1)"},
    {clean, "insert into public . t (a) select 2"},
    {clean, "insert into \"public\".\"t\" (a) values (3) on conflict (a) do nothing"},
    {clean, "copy public.t(a) to stdout"},
    {clean, "update t set a = 2 where a = 1"},
    {clean, "delete from t where a = 9 returning a"},
    {clean, "with x as (select 1), y as materialized (select 2) select * from x, y"},
    {clean, "select * from (values (1), (2)) as v(a)"},
    {clean, "select * from (select 1) v(a)"},
    {clean, "create table made_here (a int primary key, b numeric(3, 1))"},
    {clean, "create table public.made_there (a int primary key, b varchar(3))"},
    {clean, "create table made_child (a int references public.made_there(a))"},
    {clean, "drop table made_here"},
    {clean, "begin"},
    {clean, "begin; insert into t values (4); commit"},
    {clean, "vacuum t"},
    {clean, "show all"},
    {clean, "explain analyze select 1"},
    {clean, "truncate t"},
    {clean, "lock table t"},
    {clean, "notify channel, 'payload'"},
    {clean, "select pg_notify('channel', 'payload')"},
    {clean, "select pg_advisory_xact_lock(5)"},
    {clean, "select pg_catalog.lower('A')"},
    {clean, "select nextval('s')"},
    {clean, "select 'set x = 1; listen a'"},
    {clean, "select 1 -- set x = 1"},
    {clean, "select /* '; set application_name = 'x' */ 1"},
    {clean, "select $$; set application_name = 'x'; $$"},
    {clean, "select $a$; listen a; $$ $a$"},
    {clean, "select E'it\\'s; set application_name = ''x'''"},
    {clean, "select 'it''s; set application_name = ''x'''"},
    {clean, "select \"a\" from t where a = 1"},
    {clean, ""},
    {clean, ";;"},
    {clean, "-- nothing"},

    // SET in all its spellings.
    {pinned, "set application_name = 'x'"},
    {pinned, "SET application_name TO x"},
    {pinned, "set session application_name = 'x'"},
    {pinned, "  /* c */ set -- c\n application_name = 'x' ;"},
    {pinned, "select 1; set application_name = 'x'"},
    {pinned, "set application_name = 'x'; select 1"},
    {pinned, "select ';'; set application_name = 'x'"},
    {pinned, "select $$ ' $$; set application_name = 'x'"},
    {pinned, "select E'\\''; set application_name = 'x'"},
    {pinned, "select e'\\\\'; set application_name = 'x'"},
    {pinned, "select 1 as \"a;b\"; set application_name = 'x'"},
    {pinned, "begin; set application_name = 'x'; commit"},
    {pinned, "set time zone 'Asia/Tokyo'"},
    {pinned, "set names 'latin1'"},
    {pinned, "set schema 'pg_catalog'"},
    {pinned, "set search_path = pg_catalog, public"},
    {pinned, "set role someone"},
    {pinned, "set session authorization someone"},
    {pinned, "set session characteristics as transaction read only"},
    {pinned, "set transaction_isolation = 'serializable'"},
    {pinned, "set default_transaction_read_only = on"},
    {pinned, "set local.setting = '1'"},
    {pinned, "set transaction.setting = '1'"},
    {pinned, "set constraints.setting = '1'"},
    {pinned, "set \"local\".setting = '1'"},
    {pinned, "set xml option document"},
    {clean, "set local application_name = 'x'"},
    {clean, "begin; set local application_name = 'x'; commit"},
    {clean, "set transaction isolation level serializable"},
    {clean, "begin; set transaction read only; commit"},
    {clean, "begin; set constraints all deferred; commit"},
    {clean, "reset all"},
    {clean, "reset application_name"},
    {clean, "reset role"},

    // set_config.
    {pinned, "select set_config('application_name', 'x', false)"},
    {pinned, "select SET_CONFIG('a.b', 'x', false)"},
    {pinned, "select \"set_config\"('a.b', 'x', false)"},
    {pinned, "select pg_catalog.set_config('a.b', 'x', false)"},
    {pinned, "select pg_catalog . \"set_config\" /* c */ ('a.b', 'x', false)"},
    {pinned, "select set_config('a.b', 'x', not true)"},
    {pinned, "select set_config('a.b', 'x', 1 = 2 and true)"},
    {pinned, "select set_config('a.b', 'x', is_local => false)"},
    {pinned, "select set_config('a.b', 'x', $$false$$::bool)"},
    {pinned, "select set_config('a.b', ',true', (select false))"},
    {pinned, "with x as (select set_config('a.b', 'x', false)) select * from x"},
    {pinned, "select set_config('a.b', 'x', true), set_config('a.b', 'y', false)"},
    {pinned, "explain analyze select set_config('a.b', 'x', false)"},
    {clean, "select set_config('application_name', 'x', true)"},
    {clean, "select pg_catalog.set_config('application_name', lower('A, B'), true)"},
    {reset, "select other.set_config('a.b', 'x', true)"},
    {reset, "select U&\"set\\005fconfig\"('a.b', 'x', false)"},

    // A view whose rule calls set_config.
    {reset, "update pg_settings set setting = 'x' where name = 'application_name'"},
    {reset, "update pg_catalog.pg_settings set setting = 'x' where name = 'application_name'"},
    {reset, "update \"pg_settings\" set setting = current_user where name = 'application_name'"},
    {reset, "UPDATE PG_SETTINGS s SET setting = s.name WHERE s.name = 'application_name'"},
    {reset,
     "with x as (update pg_settings set setting = 'x' where name = 'application_name' "
     "returning 1) select * from x"},
    {reset, "select a into pg_temp.x from t"},
    {reset, "select 1 as a into \"pg_temp\".x"},

    // LISTEN.
    {pinned, "listen channel"},
    {pinned, "LISTEN \"Channel\""},
    {pinned, "select 1; listen channel"},
    {clean, "unlisten *"},
    {clean, "unlisten channel"},

    // Prepared statements of SQL.
    {pinned, "prepare p as select 1"},
    {pinned, "prepare p(int) as select $1"},
    {pinned, "prepare transaction as select 1"},
    {pinned, "prepare transaction (int) as select $1"},
    {reset, "execute missing"},
    {clean, "deallocate all"},
    {clean, "begin; prepare transaction 'two_phases'"},
    {clean, "rollback prepared 'two_phases'"},
    {clean, "discard plans"},
    {clean, "discard temp"},
    {clean, "discard all"},

    // Temporary objects.
    {pinned, "create temp table x (a int)"},
    {pinned, "create temporary table x (a int)"},
    {pinned, "create local temp table x (a int)"},
    {pinned, "create global temporary table x (a int)"},
    {pinned, "CREATE TEMP TABLE IF NOT EXISTS x AS SELECT 1"},
    {pinned, "create temp view x as select 1"},
    {pinned, "create or replace temp view x as select 1"},
    {pinned, "create or replace local temporary view x as select 1"},
    {pinned, "create temp recursive view x (a) as select 1"},
    {pinned, "create temp sequence x"},
    {pinned, "create table pg_temp.x (a int)"},
    {pinned, "create table \"pg_temp\".x (a int)"},
    {pinned, "create table PG_TEMP.x as select 1"},
    {pinned, "create view pg_temp.x as select 1"},
    {pinned, "create function pg_temp.f() returns int language sql as 'select 1'"},
    {pinned, "select 1 as a into temp x"},
    {pinned, "select 1 as a into temporary table x"},
    {pinned, "select 1 as a into local temp x"},
    {pinned, "with y as (select 1 as a) select a into temp x from y"},
    {pinned, "explain analyze create temp table x as select 1"},
    {pinned, "begin; set local search_path = pg_temp; create table x (a int); commit"},
    {pinned, "begin; set local search_path = 'pg_temp'; create table x (a int); commit"},
    {pinned, "begin; set local search_path = \"pg_temp\", public; create table x (a int); commit"},
    {pinned,
     "begin; select set_config('search_path', 'pg_temp', true); create table x (a int); "
     "commit"},

    // Cursors that outlive the transaction.
    {pinned, "begin; declare c cursor with hold for select 1; commit"},
    {pinned, "begin; DECLARE c SCROLL CURSOR WITH /* c */ HOLD FOR SELECT 1; commit"},
    {pinned, "declare c binary insensitive cursor with hold for select 1"},
    {clean, "begin; declare c cursor for select 1; commit"},
    {clean, "begin; declare c cursor without hold for select 1; commit"},

    // Advisory locks of the session.
    {pinned, "select pg_advisory_lock(1)"},
    {pinned, "select pg_advisory_lock(1, 2)"},
    {pinned, "select pg_advisory_lock_shared(1)"},
    {pinned, "select pg_try_advisory_lock(1)"},
    {pinned, "select pg_try_advisory_lock_shared(1)"},
    {pinned, "select PG_CATALOG.PG_ADVISORY_LOCK(1)"},
    {pinned, "select \"pg_try_advisory_lock\"(1)"},
    {pinned, "select 1 where pg_try_advisory_lock (3)"},
    {clean, "select pg_advisory_unlock(1)"},
    {clean, "select pg_advisory_unlock_all()"},

    // What no text shows.
    {reset, "do $$ begin perform set_config('a.b', 'x', false); end $$"},
    {reset, "do 'begin execute ''create temp table x (a int)''; end'"},
    {reset, "call leave_something()"},
    {reset, "select leaves_something()"},
    {reset, "select public.leaves_something()"},
    {reset, "select \"leaves_something\" ()"},
    {reset, "select * from leaves_something() as f(x)"},
    {reset, "insert into t select leaves_something()"},
    {reset, "update t set a = leaves_something()"},
    {reset, "select (1), leaves_something()"},
    {reset, "select case when (true) then leaves_something() end"},
    {reset, "create table made_by_call as select leaves_something()"},
    {reset, "values (leaves_something())"},
    {reset, "select 1 from t where (a = 1) or leaves_something() = 1 or true"},
    {reset, "select 1 union (select leaves_something())"},
    {reset, "explain analyze select leaves_something()"},
    {reset, "copy (select leaves_something()) to stdout"},
    {reset, "select setseed(0.5)"},
    {reset, "select query_to_xml('select set_config(''a.b'', ''x'', false)', true, true, '')"},
    {reset, "select '\\'; set application_name = 'x' --'"},
    {reset, "select 'not terminated"},
    {reset, "select 1 /* not terminated"},
    {reset, "load 'plpgsql'; select unknown_function()"},

    // Not told from a call; costs a reset.
    {reset, "create index on t (a)"},
    {reset, "with x(a) as (select 1), y(a) as (select 2) select * from x, y"},
});

}  // namespace pgb::test
