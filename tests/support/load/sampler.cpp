#include "tests/support/load/sampler.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace pgb::load {

Sampler::Sampler(Loop& loop, Target target, std::string sql, Duration every)
    : connection_(loop, std::move(target), *this),
      timer_(loop, [this] { ask(); }),
      sql_(std::move(sql)),
      every_(every) {}

void Sampler::ask() {
    std::string bytes;
    frontend::query(bytes, sql_);
    connection_.send(bytes);
}

void Sampler::on_message(const Message& message) {
    if (message.type == 'E') failure_ = parse_error(message.body).message;
    if (message.type == 'Z') timer_.arm_after(every_);
    if (message.type != 'D') return;
    const std::optional<std::string_view> text = first_column(message.body);
    if (!text) return;
    std::from_chars(text->data(), text->data() + text->size(), last_);
    max_ = std::max(max_, last_);
    ++sample_count_;
}

void Sampler::on_lost(bool, const ErrorFields& error) {
    failure_ = error.message.empty() ? "connection lost" : error.message;
}

void Sampler::reset() {
    last_ = 0;
    max_ = 0;
    sample_count_ = 0;
}

}  // namespace pgb::load
