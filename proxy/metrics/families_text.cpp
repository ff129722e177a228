#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "proxy/metrics/families.h"
#include "proxy/metrics/families_made.h"

namespace pgb {

namespace {

// prometheus-cpp knows the older format only.
class OpenMetricsText {
public:
    void add(const MetricFamily& family) {
        const std::string name = family_name(family);
        head(family, name);
        for (const ClientMetric& metric : family.metric) {
            if (family.type == MetricType::Histogram) {
                histogram(name, metric);
            } else if (family.type == MetricType::Counter) {
                sample(family.name, metric.label, metric.counter.value);
            } else {
                sample(family.name, metric.label, metric.gauge.value);
            }
        }
    }

    std::string finish() {
        text_ += "# EOF\n";
        return std::move(text_);
    }

private:
    static constexpr std::string_view kTotal = "_total";
    static constexpr std::string_view kInfo = "_info";

    static bool is_info(const MetricFamily& family) { return family.name.ends_with(kInfo); }

    /// A family's name lacks what its samples end with.
    static std::string family_name(const MetricFamily& family) {
        std::string_view name = family.name;
        if (family.type == MetricType::Counter) name.remove_suffix(kTotal.size());
        if (is_info(family)) name.remove_suffix(kInfo.size());
        return std::string(name);
    }

    static std::string_view type_word(const MetricFamily& family) {
        if (is_info(family)) return "info";
        if (family.type == MetricType::Counter) return "counter";
        return family.type == MetricType::Histogram ? "histogram" : "gauge";
    }

    void head(const MetricFamily& family, const std::string& name) {
        line("# TYPE {} {}\n", name, type_word(family));
        for (const std::string_view unit : {"seconds", "bytes"}) {
            if (name.ends_with(fmt::format("_{}", unit))) line("# UNIT {} {}\n", name, unit);
        }
        line("# HELP {} ", name);
        escape(family.help);
        text_ += '\n';
    }

    template <typename... Parts>
    void line(fmt::format_string<Parts...> format, Parts&&... parts) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
    }

    void escape(std::string_view value) {
        for (const char c : value) {
            if (c == '\n') {
                text_ += "\\n";
                continue;
            }
            if (c == '"' || c == '\\') text_ += '\\';
            text_ += c;
        }
    }

    /// The shortest that reads back as the same; the bounds of buckets have a point or an exponent.
    static std::string number_text(double value, bool is_bound = false) {
        if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
        if (std::isnan(value)) return "NaN";
        // Counts of up to 2^53 as people write them.
        if (value == std::floor(value) && std::abs(value) <= 9007199254740992.0) {
            return fmt::format("{:.0f}{}", value, is_bound ? ".0" : "");
        }
        return fmt::format("{}", value);
    }

    void sample(const std::string& name, const Labels& labels, double value,
                std::string_view bound = {}) {
        text_ += name;
        char before = '{';
        const auto label = [&](std::string_view key, std::string_view of) {
            text_ += before;
            before = ',';
            text_ += key;
            text_ += "=\"";
            escape(of);
            text_ += '"';
        };
        for (const ClientMetric::Label& one : labels) label(one.name, one.value);
        if (!bound.empty()) label("le", bound);
        if (before == ',') text_ += '}';
        line(" {}\n", number_text(value));
    }

    void histogram(const std::string& name, const ClientMetric& metric) {
        const auto& histogram = metric.histogram;
        for (const auto& bucket : histogram.bucket) {
            sample(name + "_bucket", metric.label, number(bucket.cumulative_count),
                   number_text(bucket.upper_bound, true));
        }
        const double count = number(histogram.sample_count);
        sample(name + "_bucket", metric.label, count, "+Inf");
        sample(name + "_count", metric.label, count);
        sample(name + "_sum", metric.label, histogram.sample_sum);
    }

    std::string text_;
};

}  // namespace

std::string render_prometheus(const Snapshot& snapshot) {
    return prometheus::TextSerializer().Serialize(make_families(snapshot));
}

std::string render_open_metrics(const Snapshot& snapshot) {
    OpenMetricsText text;
    for (const MetricFamily& family : make_families(snapshot)) text.add(family);
    return text.finish();
}

}  // namespace pgb
