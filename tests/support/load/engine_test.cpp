#include <random>

#include "tests/support/catch.h"
#include "tests/support/load/histogram.h"
#include "tests/support/load/script.h"
#include "tests/support/load/wire.h"

namespace pgb::load {
namespace {

TEST_CASE("load: a quantile is never below the latency it stands for, and at most 3.2 % above") {
    for (std::int64_t ns = 1; ns < 100'000'000'000; ns = ns * 7 / 5 + 1) {
        Histogram histogram;
        histogram.record(Duration(ns));
        histogram.record(Duration(2 * ns));
        const Duration half = histogram.quantile(0.5);
        CHECK(half >= Duration(ns));
        CHECK(static_cast<double>(half.count()) <= static_cast<double>(ns) * 1.032 + 1);
        CHECK(histogram.quantile(1.0) == Duration(2 * ns));
    }
}

TEST_CASE("load: two histograms add up to what one would have held") {
    Histogram low;
    Histogram high;
    for (int i = 0; i < 99; ++i) low.record(Duration(1000));
    high.record(Duration(5'000'000));
    low.add(high);
    CHECK(low.count() == 100);
    CHECK(low.max() == Duration(5'000'000));
    CHECK(low.quantile(0.99) < Duration(1100));
    CHECK(low.quantile(1.0) == Duration(5'000'000));
}

TEST_CASE("load: messages are the same however the bytes are cut") {
    const std::string stream("Z\0\0\0\5IC\0\0\0\15SELECT 1\0N\0\0\0\4", 25);
    for (std::size_t first = 0; first <= stream.size(); ++first) {
        for (std::size_t second = first; second <= stream.size(); ++second) {
            MessageReader reader;
            std::string types;
            std::size_t from = 0;
            for (const std::size_t end : {first, second, stream.size()}) {
                reader.feed(std::string_view(stream).substr(from, end - from));
                from = end;
                while (const auto message = reader.next()) types += message->type;
            }
            CHECK(types == "ZCN");
            CHECK_FALSE(reader.is_broken());
        }
    }
}

TEST_CASE("load: a length below four breaks the stream") {
    MessageReader reader;
    reader.feed(std::string_view("Z\0\0\0\3", 5));
    CHECK_FALSE(reader.next().has_value());
    CHECK(reader.is_broken());
}

TEST_CASE("load: the hint of a refusal gives reason and time, and no other key passes for them") {
    const std::string_view hint = "retry_after_ms=250 reason=queue_full workload=reports";
    CHECK(hint_value(hint, "reason") == "queue_full");
    CHECK(hint_value(hint, "retry_after_ms") == "250");
    CHECK(hint_value(hint, "workload") == "reports");
    CHECK_FALSE(hint_value(hint, "ms").has_value());
    CHECK_FALSE(hint_value("Perhaps you meant to reason about it.", "reason").has_value());
}

TEST_CASE("load: an error's fields are found in any order, and unknown ones are skipped") {
    const std::string body("SERROR\0VERROR\0Hreason=x\0C40001\0L1\0Mno\0\0", 39);
    const ErrorFields fields = parse_error(body);
    CHECK(fields.severity == "ERROR");
    CHECK(fields.sqlstate == "40001");
    CHECK(fields.message == "no");
    CHECK(fields.hint == "reason=x");
}

TEST_CASE("load: a script's steps owe a ReadyForQuery for each Query and for each Sync") {
    const auto script = parse_script(
        "# a comment\n\nsimple begin\n"
        "pipelined select 1 ||| select 2 ||| commit\nextended select 3 ||| select 4\n");
    REQUIRE(script.ok());
    REQUIRE(script->size() == 3);
    std::mt19937_64 random(1);
    CHECK(frame((*script)[0], random).ready_count == 1);
    CHECK(frame((*script)[1], random).ready_count == 3);
    CHECK(frame((*script)[2], random).ready_count == 1);
    CHECK((*script)[1].statements[2] == "commit");
}

TEST_CASE("load: a script that cannot be read is refused") {
    CHECK_FALSE(parse_script("").ok());
    CHECK_FALSE(parse_script("slowly select 1").ok());
    CHECK_FALSE(parse_script("simple").ok());
    CHECK_FALSE(parse_script("simple select 1 ||| select 2").ok());
}

TEST_CASE("load: :rnd(1) is 1, and what is no :rnd stays as it is") {
    std::mt19937_64 random(1);
    const Step step{StepKind::simple, {"select :rnd(1), ':rnd(x)'"}};
    const std::string bytes = frame(step, random).bytes;
    CHECK(bytes.find("select 1, ':rnd(x)'") != std::string::npos);
}

}  // namespace
}  // namespace pgb::load
