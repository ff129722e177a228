#include "proxy/admin/accept.h"

#include <string>

#include "proxy/admin/views.h"
#include "tests/support/catch.h"

namespace pgb::test {

TEST_CASE("accept: OpenMetrics is for who names it and would not rather have text") {
    struct Row {
        const char* accept;
        bool is_open;
    };
    for (const Row& row : {
             Row{"", false},
             Row{"*/*", false},
             Row{"application/*", false},
             Row{"text/plain", false},
             Row{"application/openmetrics-text", true},
             Row{"Application/OpenMetrics-Text;Version=1.0.0;charset=utf-8", true},
             Row{"application/openmetrics-text; version=\"1.0.0\"; q=0.5", true},
             // Prometheus 2.42, 2.54 and 3.1
             Row{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                 true},
             Row{"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
                 "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                 true},
             Row{"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
                 "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
                 "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                 true},
             Row{"text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.8", false},
             Row{"application/openmetrics-text;q=0", false},
             Row{"application/openmetrics-text;q=0.001", true},
             Row{"application/openmetrics-text;q=2", false},
             Row{"application/openmetrics-text;q=x", false},
             Row{"application/openmetrics-text;version=2.0.0", false},
             Row{"application/openmetrics-textual", false},
             Row{",,;;=,application/openmetrics-text ;q = 1.000 ,", true},
             Row{";q", false},
         }) {
        INFO(row.accept);
        CHECK(prefers_open_metrics(row.accept) == row.is_open);
    }
}

TEST_CASE("probes: /metrics answers in the format that was asked for and says which") {
    const Snapshot snapshot;
    const auto ask = [&](std::string_view accept) {
        return answer_probe("/metrics", snapshot, Duration::zero(), accept);
    };
    CHECK(ask("").content_type == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(ask("").body.find("# EOF") == std::string::npos);
    const HttpAnswer open = ask("application/openmetrics-text");
    CHECK(open.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8");
    CHECK(open.body.ends_with("# EOF\n"));
    REQUIRE(open.headers.size() == 1);
    CHECK(open.headers[0].first == "Vary");
}

}  // namespace pgb::test
