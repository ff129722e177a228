// What a client thinks of the replies it gets.

#include <algorithm>

#include "protocol/error_response.h"
#include "tests/sim/client.h"

namespace pgb::sim {

// The first unit whose ReadyForQuery may still come.
std::size_t Client::head() const {
    int most = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
        most += units_[i].ready_max;
        if (most > ready_seen_) return i;
    }
    return units_.size();
}

bool Client::answered() const {
    if (owes_sync_ || copy_ != Copy::none) return false;
    int least = 0;
    for (const Unit& unit : units_) least += unit.ready_min;
    return ready_seen_ >= least;
}

std::string Client::describe() const {
    std::string text = "session " + std::to_string(session_) + ": ";
    text += std::to_string(units_.size()) + " units, " + std::to_string(ready_seen_) + " ready";
    for (std::size_t i = head(); i < units_.size(); ++i) {
        text += "; " + units_[i].what + " got \"" + units_[i].got + "\"";
    }
    if (copy_ == Copy::awaits_go) text += "; awaits a COPY";
    return text;
}

void Client::receive(std::string_view bytes) {
    incoming_ += bytes;
    while (incoming_.size() >= 5) {
        std::uint32_t size = 1;
        for (std::size_t i = 1; i < 5; ++i) {
            size += static_cast<std::uint32_t>(static_cast<unsigned char>(incoming_[i]))
                    << (8 * (4 - i));
        }
        if (size < 5) {
            books_.complain("an impossible length was sent to " + describe());
            incoming_.clear();
            return;
        }
        if (incoming_.size() < size) return;
        on_message(incoming_[0], std::string_view(incoming_).substr(5, size - 5));
        incoming_.erase(0, size);
    }
}

void Client::on_message(char type, std::string_view body) {
    if (type == 'N' || type == 'S' || type == 'A') return;
    if (fatal_) return books_.complain("a reply behind FATAL: " + describe());
    if (type == 'E') {
        const auto fields = parse_error(body);
        if (!fields) return books_.complain("an error that can't be read: " + describe());
        if (fields->sqlstate == "08007") setting_is_sure_ = false;
        if (is_fatal(*fields)) {
            fatal_ = true;
            return;
        }
    }
    const std::size_t at = head();
    if (type == 'E' && at < units_.size() && !units_[at].needs.empty() &&
        parse_error(body)->sqlstate == "26000") {
        return books_.complain("statement " + units_[at].needs + " is lost: " + describe());
    }
    if (at == units_.size()) {
        return books_.complain(std::string("a reply to nothing, ") + type + ": " + describe());
    }
    if (type == 'Z') return on_ready();
    if (type == 'D') check_row(body);
    Unit& unit = units_[at];
    unit.got += type;
    if (type == 'G') {
        if (copy_ == Copy::awaits_go) {
            copy_ = Copy::sending;
        } else {
            books_.complain("COPY begins for nobody: " + describe());
        }
    }
    if (type == 'C' && unit.commits_block && std::string(body) == std::string("COMMIT\0", 7)) {
        if (unit.block == setting_block_) {
            setting_ = block_setting_;
            setting_is_sure_ = true;
        }
        for (const std::string& name : stored_claims_) {
            if (!books_.rows.contains(name)) books_.complain("COMMIT was claimed for " + name);
        }
    }
}

void Client::on_quiet() {
    if (fatal_ || units_.empty() || units_.back().strict || copy_ != Copy::none || owes_sync_)
        return;
    int before = 0;
    for (std::size_t i = 0; i + 1 < units_.size(); ++i) before += units_[i].ready_max;
    Unit& unit = units_.back();
    if (ready_seen_ - before < unit.ready_min) {
        books_.complain("all is quiet and a ReadyForQuery is owed: " + describe());
    }
    unit.ready_min = unit.ready_max = ready_seen_ - before;
    unit.strict = true;
}

void Client::on_ready() {
    const std::size_t at = head();
    Unit& unit = units_[at];
    ++ready_seen_;
    note_name(unit, at);
    if (unit.strict) check_unit(unit);
    if (&unit == &units_.back() && copy_ == Copy::awaits_go) copy_ = Copy::none;
    if (&unit == &units_.back() && copy_ == Copy::sending && !copy_extended_) {
        // It failed in the middle; whatever is still sent is dropped, and a Sync answered.
        message('c', "");
        copy_ = Copy::none;
    }
}

void Client::check_unit(const Unit& unit) {
    const std::size_t error = unit.got.find('E');
    const bool whole = unit.got == unit.expected;
    const bool begun = error != unit.got.npos && error + 1 == unit.got.size() &&
                       unit.expected.compare(0, error, unit.got, 0, error) == 0;
    if (!whole && !begun) {
        books_.complain("wrong replies \"" + unit.got + "\" to " + unit.what + ", expected \"" +
                        unit.expected + "\": " + describe());
        return;
    }
    if (whole && !unit.sets.empty()) {
        if (unit.block == 0) {
            setting_ = unit.sets;
            setting_is_sure_ = true;
        } else {
            setting_block_ = unit.block;
            block_setting_ = unit.sets;
        }
    }
    if (!whole || unit.insert.empty()) return;
    if (unit.block == 0) {
        if (!books_.rows.contains(unit.insert)) {
            books_.complain("an answered INSERT is not stored: " + unit.insert);
        }
    } else if (unit.block == block_) {
        stored_claims_.push_back(unit.insert);
    }
}

void Client::check_setting(const Unit& unit, const std::string& shown) {
    if (!setting_is_sure_) return;
    const bool of_block = unit.block != 0 && unit.block == setting_block_;
    const std::string& expected = of_block ? block_setting_ : setting_;
    if (shown == (expected == "none" ? "" : expected)) return;
    books_.complain("application_name is " + shown + ", not " + expected + ": " + describe());
}

void Client::check_row(std::string_view body) {
    // Int16 of columns, Int32 of length, the value.
    const std::string tag(body.substr(std::min<std::size_t>(6, body.size())));
    // A ping's.
    if (tag.empty()) return;
    if (session_of(tag) != std::to_string(session_)) {
        return books_.complain("somebody else's row, " + tag + ": " + describe());
    }
    const auto unit = static_cast<std::size_t>(std::stoul(tag.substr(tag.find('u') + 1)));
    if (const auto sign = tag.find('='); sign != tag.npos) {
        check_setting(units_[unit], tag.substr(sign + 1));
    }
    if (tag.ends_with("u0n0")) return;
    int least = 0;
    int most = 0;
    for (std::size_t i = 0; i < unit; ++i) {
        least += units_[i].ready_min;
        most += units_[i].ready_max;
    }
    if (ready_seen_ < least || ready_seen_ > most + units_[unit].ready_max) {
        books_.complain("a row out of order, " + tag + ": " + describe());
    }
}

}  // namespace pgb::sim
