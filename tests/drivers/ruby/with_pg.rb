# ruby-pg: asynchronous underneath, statements prepared by name, COPY, pipeline mode, LISTEN.
require "pg"
ActiveRecordError = PG::Error
require_relative "checks"

def connect(name = "")
  connection = PG.connect(host: HOST, port: PORT, dbname: DATABASE, user: USER, application_name: name)
  yield connection
ensure
  connection&.close
end

def one(connection, text, args = [])
  connection.exec_params(text, args).getvalue(0, 0)
end

def count(connection) = one(connection, "select count(*) from t").to_i

check("login") { connect("before") { |c| same one(c, "show application_name"), "before" } }

check("simple") do
  connect { |c| same c.exec("select 1; select 2").getvalue(0, 0), "2" }
end

check("prepared") do
  connect do |c|
    c.prepare("plan", "select $1::int + 1")
    5.times do |n|
      c.transaction { same c.exec_prepared("plan", [n]).getvalue(0, 0), (n + 1).to_s }
      same one(c, "select $1::text", ["n#{n}"]), "n#{n}"
    end
  end
end

check("commit") do
  connect do |c|
    before = count(c)
    c.transaction { c.exec_params("insert into t values ($1, $2)", [1, "ruby"]) }
    same count(c), before + 1
  end
end

check("rollback") do
  connect do |c|
    before = count(c)
    begin
      c.transaction { c.exec("insert into t values (1, 'away')") && raise("away") }
    rescue RuntimeError
      same count(c), before
    end
  end
end

check("error") do
  connect do |c|
    fails("22012") { one(c, "select 1 / $1::int", [0]) }
    same one(c, "select 1 + 0"), "1"
  end
end

check("copy") do
  connect do |c|
    before = count(c)
    c.copy_data("copy t from stdin") { 2000.times { |n| c.put_copy_data("#{n}\trow\n") } }
    same count(c), before + 2000
    rows = 0
    c.copy_data("copy (select * from t where b = 'row') to stdout") { rows += 1 while c.get_copy_data }
    same rows, 2000
  end
end

check("pipeline") do
  connect do |c|
    c.enter_pipeline_mode
    10.times { |n| c.send_query_params("select $1::int", [n]) }
    c.pipeline_sync
    10.times do |n|
      same c.get_result.getvalue(0, 0), n.to_s
      same c.get_result, nil
    end
    same c.get_result.result_status, PG::PGRES_PIPELINE_SYNC
    c.exit_pipeline_mode
  end
end

check("cancel") do
  connect do |c|
    c.send_query("select pg_sleep(20)")
    same c.block(0.3), false
    c.cancel
    fails("57014") { c.get_last_result }
    same one(c, "select 1 + 0"), "1"
  end
end

check("notify") do
  connect do |listener|
    listener.exec("listen ruby")
    connect { |speaker| speaker.exec("notify ruby, 'word'") }
    heard = nil
    listener.wait_for_notify(5) { |_channel, _process, word| heard = word }
    same heard, "word"
  end
end

# The block, on a connection, while somebody holds the only permit; then the connection works.
def refused
  connect(TIGHT) do |holder|
    connect(TIGHT) do |c|
      process = c.backend_pid
      holder.exec("begin; select 1 + 0")
      3.times { yield c }
      holder.exec("rollback")
      same one(c, "select 1 + 0"), "1"
      same c.backend_pid, process
    end
  end
end

check("refusal_autocommit") { refused { |c| fails("40001") { one(c, "select $1::int", [1]) } } }

check("refusal_block") do
  refused do |c|
    fails("40001") { c.transaction { c.exec("select 1 + 0") } }
    same c.transaction_status, PG::PQTRANS_IDLE
  end
end

check("refusal_pipeline") do
  refused do |c|
    c.enter_pipeline_mode
    2.times { |n| c.send_query_params("select $1::int", [n]) }
    c.pipeline_sync
    fails("40001") { c.get_result.check }
    same c.get_result, nil
    same c.get_result.result_status, PG::PGRES_PIPELINE_ABORTED
    same c.get_result, nil
    same c.get_result.result_status, PG::PGRES_PIPELINE_SYNC
    c.exit_pipeline_mode
  end
end
