#pragma once

#include <fmt/format.h>

#include <cmath>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "proxy/gate/gate.h"
#include "tests/unit/gate/gate_rules.h"

namespace pgb::test {

/// Runs one transcript against a gate of its own. tests/scripts/gate/README.md is the format.
/// Complaints are collected, not thrown: none means that every line had its outcome and that the
/// gate's invariants held after each.
class Transcript {
public:
    std::vector<std::string> run(std::istream& script) {
        std::string line;
        for (line_number_ = 1; std::getline(script, line); ++line_number_) run_line(line);
        for (auto& [name, client] : clients_) {
            gate_.cancel(client->waiter, Leave::left);
            client->permit.release();
        }
        if (checked_ == 0) complaints_.push_back("the transcript expects nothing");
        return complaints_;
    }

private:
    using Words = std::vector<std::string>;
    using Outcome = std::optional<std::string>;  // nothing: the command has none

    struct Client {
        Waiter waiter;
        Permit permit;
    };
    struct Command {
        const char* name;
        std::size_t argument_count;
        Outcome (Transcript::*run)(const Words&);
    };

    void complain(const std::string& what) {
        complaints_.push_back(fmt::format("line {}: {}", line_number_, what));
    }

    static std::string trim(const std::string& text) {
        const auto first = text.find_first_not_of(" \t");
        if (first == std::string::npos) return "";
        return text.substr(first, text.find_last_not_of(" \t") - first + 1);
    }

    static const Command* find_command(const Words& words) {
        static constexpr Command kCommands[] = {
            {"lane", 4, &Transcript::lane},
            {"budget", 4, &Transcript::budget},
            {"at", 1, &Transcript::at},
            {"arrive", 2, &Transcript::arrive},
            {"arrive", 4, &Transcript::arrive},
            {"release", 1, &Transcript::release},
            {"cancel", 1, &Transcript::cancel},
            {"leave", 1, &Transcript::leave},
            {"dispatch", 0, &Transcript::dispatch},
            {"drain", 0, &Transcript::drain},
            {"withdraw", 1, &Transcript::withdraw},
            {"count", 3, &Transcript::count},
            {"next", 0, &Transcript::next},
            {"counts", 1, &Transcript::counts},
            {"books", 1, &Transcript::books},
            {"expected", 1, &Transcript::expected},
            {"mode", 2, &Transcript::mode},
            {"pace", 2, &Transcript::pace},
            {"promise", 2, &Transcript::promise},
            {"returns", 1, &Transcript::returns},
            {"shadow", 1, &Transcript::shadow},
        };
        const Command* found = nullptr;
        for (const Command& command : kCommands) {
            if (words.empty() || words[0] != command.name) continue;
            found = &command;
            if (words.size() == command.argument_count + 1) break;
        }
        return found;
    }

    void run_line(const std::string& whole) {
        const std::string line = trim(whole.substr(0, whole.find('#')));
        if (line.empty()) return;
        const auto arrow = line.find("=>");
        std::istringstream left(line.substr(0, arrow));
        Words words;
        for (std::string word; left >> word;) words.push_back(word);
        const Command* command = find_command(words);
        if (command == nullptr) return complain("unknown command: " + line);
        if (words.size() != command->argument_count + 1) return complain("wrong arguments");
        const Outcome outcome = (this->*command->run)(words);
        compare(outcome, arrow == std::string::npos ? Outcome() : trim(line.substr(arrow + 2)));
        check_rules(words[0] == "dispatch");
    }

    void compare(const Outcome& outcome, const Outcome& written) {
        if (outcome.has_value()) ++checked_;
        if (outcome == written) return;
        if (!written.has_value()) return complain("the outcome is missing: => " + *outcome);
        if (!outcome.has_value()) return complain("this command has no outcome");
        complain(fmt::format("written \"{}\", happened \"{}\"", *written, *outcome));
    }

    void check_rules(bool dispatched) {
        for (const std::string& broken : broken_rules(gate_, lowered_, dispatched)) {
            complain(broken);
        }
    }

    LaneId lane_of(const std::string& name) {
        const auto found = lanes_.find(name);
        if (found != lanes_.end()) return found->second;
        complain("no such lane: " + name);
        return lanes_[name] = gate_.add_lane(name, {});
    }
    Client& client(const std::string& name) {
        auto& slot = clients_[name];
        if (slot == nullptr) slot = std::make_unique<Client>();
        return *slot;
    }
    std::string name_of(const Waiter& waiter) const {
        for (const auto& [name, client] : clients_) {
            if (&client->waiter == &waiter) return name;
        }
        return "nobody";
    }
    static LaneBudget budget_of(const Words& w) {
        const auto number = [&](std::size_t i) {
            return static_cast<std::uint32_t>(std::stoul(w[i]));
        };
        return {number(2), number(3), std::chrono::milliseconds(number(4))};
    }

    /// Gives the permits of the out-list to their clients and says what it held.
    std::string settle() {
        std::string text;
        for (Settled& settled : settled_) {
            const std::string name = name_of(*settled.waiter);
            if (!text.empty()) text += ", ";
            text += settled.granted ? "granted " + name
                                    : fmt::format("shed {} {}", name, to_word(settled.reason));
            if (settled.granted != settled.permit.held()) complain("granted without a permit");
            if (settled.waiter->waiting()) complain(name + " was settled and still waits");
            if (settled.granted) client(name).permit = std::move(settled.permit);
        }
        settled_.clear();
        return text;
    }

    Outcome lane(const Words& w) {
        lanes_[w[1]] = gate_.add_lane(w[1], budget_of(w));
        return {};
    }
    Outcome budget(const Words& w) {
        const LaneBudget before = gate_.budget(lane_of(w[1]));
        const LaneBudget after = budget_of(w);
        lowered_ |= after.concurrency < before.concurrency || after.queue < before.queue;
        gate_.set_budget(lane_of(w[1]), after);
        return {};
    }
    static Instant instant_of(const std::string& ms) {
        return Instant(Duration(static_cast<std::int64_t>(std::llround(std::stod(ms) * 1e6))));
    }
    Outcome at(const Words& w) {
        const Instant then = instant_of(w[1]);
        if (then < now_) complain("time does not go back");
        now_ = then;
        return {};
    }
    Outcome arrive(const Words& w) {
        Client& newcomer = client(w[1]);
        if (newcomer.waiter.waiting() || newcomer.waiter.parked() || newcomer.permit.held())
            complain(w[1] + " is here already");
        newcomer.waiter.finish_by(w.size() > 3 ? instant_of(w[4]) : Instant::never());
        Verdict verdict = gate_.arrive(lane_of(w[2]), newcomer.waiter, now_, settled_);
        std::string text = settle();
        if (!text.empty()) text += ", ";
        if (verdict.permit.held() != (verdict.arrival == Arrival::admitted)) {
            complain("the verdict and its permit disagree");
        }
        newcomer.permit = std::move(verdict.permit);
        switch (verdict.arrival) {
            case Arrival::admitted: return text + "admitted";
            case Arrival::queued: return text + "queued";
            case Arrival::parked: return text + "parked";
            case Arrival::shed: return text + "shed " + std::string(to_word(verdict.reason));
        }
        return text;
    }
    Outcome release(const Words& w) {
        if (!client(w[1]).permit.held()) complain(w[1] + " holds no permit");
        client(w[1]).permit.release();
        return {};
    }
    Outcome take_out(const std::string& name, Leave why) {
        const Waiter& waiter = client(name).waiter;
        const bool waited = waiter.waiting() || waiter.parked();
        gate_.cancel(client(name).waiter, why);
        if (waiter.waiting() || waiter.parked()) complain(name + " still waits");
        return waited ? "left the queue" : "was not waiting";
    }
    Outcome cancel(const Words& w) { return take_out(w[1], Leave::cancelled); }
    Outcome withdraw(const Words& w) { return take_out(w[1], Leave::drained); }
    Outcome leave(const Words& w) {
        const bool held = client(w[1]).permit.held();
        client(w[1]).permit.release();
        const Outcome queue = take_out(w[1], Leave::left);
        return held ? "gave its permit back" : queue;
    }
    Outcome dispatch(const Words&) {
        gate_.dispatch(now_, settled_);
        return settle();
    }
    Outcome drain(const Words&) {
        gate_.shed_all_waiting(ShedReason::draining, settled_);
        return settle();
    }
    Outcome count(const Words& w) {
        for (const ShedReason reason : kShedReasons) {
            if (to_word(reason) != w[2]) continue;
            const bool early = w[3] == "on_arrival";
            gate_.count_shed(lane_of(w[1]), reason,
                             early ? ShedStage::on_arrival : ShedStage::after_grant);
            return {};
        }
        complain("no such reason: " + w[2]);
        return {};
    }
    static std::string in_ms(Duration duration) {
        return fmt::format("{}", static_cast<double>(duration.count()) / 1e6);
    }
    Outcome next(const Words&) {
        const Instant deadline = gate_.next_deadline();
        return deadline.is_never() ? "never" : in_ms(deadline.since_start());
    }
    Outcome expected(const Words& w) { return in_ms(gate_.expected_wait(lane_of(w[1]), now_)); }
    Outcome mode(const Words& w) {
        for (const LaneMode mode : kLaneModes) {
            if (to_word(mode) != w[2]) continue;
            gate_.set_mode(lane_of(w[1]), mode);
            lowered_ = true;
            return {};
        }
        complain("no such mode: " + w[2]);
        return {};
    }
    Outcome pace(const Words& w) {
        gate_.set_pacing(lane_of(w[1]), w[2] == "on");
        return {};
    }
    /// Without jitter.
    Outcome promise(const Words& w) {
        return in_ms(gate_.promise_return(lane_of(w[2]), client(w[1]).waiter, now_,
                                          std::chrono::seconds(5), 0.5));
    }
    Outcome returns(const Words& w) {
        const ReturnStats& r = gate_.returns(lane_of(w[1]));
        return fmt::format("retries {}, early {}, parked {} of {}, cancelled {}, left {}",
                           r.retries, r.early_retries, r.parked, r.parkings,
                           r.cancelled_while_parked, r.left_while_parked);
    }
    Outcome shadow(const Words& w) {
        const LaneStats* books = gate_.shadow(lane_of(w[1]));
        if (books == nullptr) return "none";
        return fmt::format("running {}, waiting {}: ", books->running, books->waiting) +
               in_books(*books);
    }
    Outcome counts(const Words& w) {
        const LaneStats& s = gate_.stats(lane_of(w[1]));
        return fmt::format("running {}, waiting {}, peaks {} and {}", s.running, s.waiting,
                           s.peak_running, s.peak_waiting);
    }
    /// Only what is not 0.
    Outcome books(const Words& w) { return in_books(gate_.stats(lane_of(w[1]))); }
    static std::string in_books(const LaneStats& s) {
        std::string text = fmt::format("arrived {}", s.arrived);
        const auto add = [&](const std::string& word, std::uint64_t value) {
            if (value != 0) text += fmt::format(", {} {}", word, value);
        };
        add("admitted", s.admitted);
        add("after wait", s.admitted_after_wait);
        add("cancelled", s.cancelled_while_queued);
        add("left", s.left_while_queued);
        for (const ShedReason reason : kShedReasons) {
            add(std::string(to_word(reason)), s.shed_arrivals[index_of(reason)]);
            add("holders " + std::string(to_word(reason)), s.shed_holders[index_of(reason)]);
        }
        return text;
    }

    Gate gate_;
    std::map<std::string, LaneId> lanes_;
    std::map<std::string, std::unique_ptr<Client>> clients_;
    std::vector<Settled> settled_;
    Instant now_;
    bool lowered_ = false;
    int line_number_ = 0;
    int checked_ = 0;
    std::vector<std::string> complaints_;
};

}  // namespace pgb::test
