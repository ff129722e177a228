# What the Ruby programs share: where to connect, and one line per check.
HOST = ENV.fetch("DRIVER_HOST")
PORT = ENV.fetch("DRIVER_PORT").to_i
DATABASE = ENV.fetch("DRIVER_DATABASE")
USER = ENV.fetch("DRIVER_USER")
# The application_name of a workload with one permit and a short wait; empty when there is no proxy.
TIGHT = ENV.fetch("DRIVER_TIGHT", "")
$stdout.sync = true

def check(name)
  return puts("skip #{name}") if name.start_with?("refusal") && TIGHT.empty?

  yield
  puts "ok #{name}"
rescue StandardError => error
  puts "not ok #{name}: #{"#{error.class}: #{error.message}".split.join(" ")[0, 300]}"
end

def same(got, expected)
  raise "#{got.inspect} is not #{expected.inspect}" unless got == expected
end

# The block must fail with this SQLSTATE, itself or as the cause of a framework's error.
def fails(code)
  begin
    yield
  rescue PG::Error, ActiveRecordError => error
    cause = error.respond_to?(:result) ? error : error.cause
    return same(cause.result.error_field(PG::PG_DIAG_SQLSTATE), code)
  end
  raise "no error where #{code} was due"
end
