# ActiveRecord: its pool, statement cache, nested transactions, insert_all, connection checks.
require "active_record"
require "pg"
ActiveRecordError = ActiveRecord::ActiveRecordError
require_relative "checks"

class Row < ActiveRecord::Base
  self.table_name = "k"
end

def connect_as(name)
  ActiveRecord::Base.establish_connection(
    adapter: "postgresql", host: HOST, port: PORT, database: DATABASE, username: USER, pool: 1,
    application_name: name, variables: { statement_timeout: "60s" }
  )
  ActiveRecord::Base.connection
end

def value(text) = ActiveRecord::Base.connection.select_value(text)

check("login") do
  connect_as("before")
  same value("show application_name"), "before"
end

check("simple") { same value("select 1 + 0"), 1 }

check("prepared") do
  Row.create!(id: 1)
  5.times { Row.transaction { same Row.find(1).id, 1 } }
  5.times { same Row.where(id: 1).count, 1 }
end

check("commit") do
  Row.transaction { Row.create!(id: 2) }
  same Row.exists?(2), true
end

check("rollback") do
  Row.transaction do
    Row.transaction(requires_new: true) { Row.create!(id: 3) && raise(ActiveRecord::Rollback) }
    Row.create!(id: 4)
    raise ActiveRecord::Rollback
  end
  same Row.where(id: [3, 4]).count, 0
end

check("error") do
  fails("23505") { Row.create!(id: 1) }
  fails("23505") { Row.transaction { Row.create!(id: 1) } }
  same value("select 1 + 0"), 1
end

check("copy") do
  Row.insert_all!((1000...2000).map { |id| { id: id } })
  same Row.where("id >= 1000").in_batches(of: 200).sum(&:count), 1000
end

check("cancel") do
  Row.connection.execute("set statement_timeout = '200ms'")
  fails("57014") { value("select pg_sleep(20)") }
  Row.connection.execute("reset statement_timeout")
  same value("select 1 + 0"), 1
end

check("advisory_lock") do
  same Row.connection.get_advisory_lock(42), true
  same Row.connection.release_advisory_lock(42), true
end

check("reset") do
  Row.connection.reset!
  same Row.connection.active?, true
  same Row.find(1).id, 1
end

def process = Row.connection.raw_connection.backend_pid

# Whoever says it: after a serialization failure in a block this version takes a new connection.
check("serialization") do
  connect_as("serialization")
  before = process
  fails("40001") { Row.transaction { value("do $$ begin raise serialization_failure; end $$") } }
  same process == before, false
  same value("select 1 + 0"), 1
end

# The holder is ruby-pg itself, as the pool has one place.
def refused(is_kept: true)
  holder = PG.connect(host: HOST, port: PORT, dbname: DATABASE, user: USER, application_name: TIGHT)
  connect_as(TIGHT)
  same Row.find(1).id, 1
  holder.exec("begin; select 1 + 0")
  before = process
  3.times { yield }
  holder.exec("rollback")
  same Row.find(1).id, 1
  same Row.exists?(5), false
  same process == before, is_kept
  holder.close
end

check("refusal_autocommit") { refused { fails("40001") { Row.find(1) } } }

check("refusal_block") do
  refused(is_kept: false) do
    fails("40001") { Row.transaction { Row.find(1) } }
    fails("40001") { Row.create!(id: 5) }
  end
end
ActiveRecord::Base.connection_handler.clear_all_connections!
