#include "tests/unit/pool/pool_script.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace pgb::test {

namespace {

Duration milliseconds(const std::string& text) {
    return std::chrono::milliseconds(std::stoll(text));
}

std::string in_milliseconds(Instant instant) {
    if (instant.is_never()) return "never";
    return std::to_string(
        std::chrono::duration_cast<std::chrono::milliseconds>(instant.since_start()).count());
}

std::string_view word_of(PoolRefusal refusal) {
    switch (refusal) {
        case PoolRefusal::pool_timeout: return "pool_timeout";
        case PoolRefusal::backend_down: return "backend_down";
        case PoolRefusal::permanent: return "permanent";
    }
    return "?";
}

std::string render_counts(const BackendCounts& counts) {
    std::string text;
    for (std::size_t i = 0; i < kBackendStateCount; ++i) {
        const std::uint32_t count = counts.of(static_cast<BackendState>(i));
        if (count == 0) continue;
        if (!text.empty()) text += ' ';
        text += std::string(kBackendStateWords[i]) + "=" + std::to_string(count);
    }
    return text;
}

}  // namespace

PoolScript::PoolScript() { settings_.pool_wait = std::chrono::milliseconds(500); }

PoolScript::~PoolScript() {
    for (const auto& [name, waiting] : waiters_) {
        if (pool_ != nullptr) pool_->forget_waiter(*waiting);
    }
}

std::string PoolScript::step(const Words& words) {
    const std::string& verb = words.at(0);
    for (const char* settings : {"pool", "workload", "resize", "again", "pause", "resume"}) {
        if (verb == settings) return configure(words);
    }
    if (verb == "at") {
        now_ = Instant(milliseconds(words.at(1)));
        return "";
    }
    if (verb == "tick") {
        pool().tick(now_, out_);
    } else if (!do_group_step(words) && !do_backend_step(words)) {
        return ask_something(words);
    }
    return render_actions();
}

std::string PoolScript::configure(const Words& words) {
    if (words[0] == "resize") {
        read_settings(words);
        pool().set_limits(settings_);
        return "";
    }
    if (words[0] == "again") {
        workloads_[workload(words.at(1))] = read_workload(words);
        pool().set_workloads(workloads_);
        return "";
    }
    if (words[0] == "pause") {
        pool().pause();
        return "";
    }
    if (words[0] == "resume") {
        pool().resume();
        return "";
    }
    if (pool_ != nullptr) throw std::invalid_argument("the pool was made already");
    if (words[0] == "pool") {
        read_settings(words);
        return "";
    }
    workload_names_.push_back(words.at(1));
    workloads_.push_back(read_workload(words));
    return "";
}

PoolWorkload PoolScript::read_workload(const Words& words) {
    PoolWorkload read{.concurrency = static_cast<std::uint32_t>(std::stoul(words.at(2)))};
    read.is_open = words.back() != "closed";
    read.is_housekeeping = words[1] == "housekeeping";
    const std::size_t count = words.size() - (read.is_open ? 0 : 1);
    if (count > 3) read.pinned_max = static_cast<std::uint32_t>(std::stoul(words[3]));
    return read;
}

void PoolScript::read_settings(const Words& words) {
    settings_.size = static_cast<std::uint32_t>(std::stoul(words.at(1)));
    settings_.connecting_max = settings_.size;
    for (std::size_t i = 2; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        const std::string key = words[i].substr(0, equals);
        const std::string value = words[i].substr(equals + 1);
        if (key == "wait") {
            settings_.pool_wait = milliseconds(value);
        } else if (key == "house") {
            settings_.housekeeping_wait = milliseconds(value);
        } else if (key == "connecting") {
            settings_.connecting_max = static_cast<std::uint32_t>(std::stoul(value));
        } else if (key == "idle") {
            settings_.idle_timeout = milliseconds(value);
        } else if (key == "lifetime") {
            settings_.lifetime_max = milliseconds(value);
        } else {
            throw std::invalid_argument("unknown setting " + key);
        }
    }
}

bool PoolScript::do_group_step(const Words& words) {
    const std::string& verb = words[0];
    if (verb == "join") {
        const GroupId id = pool().join(words.at(1));
        groups_[words[1]] = id;
        group_names_[id] = words[1];
    } else if (verb == "leave") {
        pool().leave(group(words.at(1)));
    } else if (verb == "ask") {
        pool().ask(waiter(words.at(1)), group(words.at(2)), workload(words.at(3)), now_, out_);
    } else if (verb == "login") {
        pool().ask_login(waiter(words.at(1)), group(words.at(2)), now_, out_);
    } else if (verb == "forget") {
        pool().forget_waiter(waiter(words.at(1)));
    } else {
        return false;
    }
    return true;
}

bool PoolScript::do_backend_step(const Words& words) {
    const std::string& verb = words[0];
    if (verb == "connected") {
        pool().on_connected(backend(words.at(1)), now_);
    } else if (verb == "failed") {
        const std::string sqlstate = words.at(2) == "-" ? "" : words[2];
        const bool permanent = words.size() > 3 && words[3] == "permanent";
        pool().on_connect_failed(backend(words[1]), {sqlstate, "no luck", permanent}, now_, out_);
    } else if (verb == "give_back") {
        pool().give_back(backend(words.at(1)), now_);
    } else if (verb == "keep") {
        pool().keep(backend(words.at(1)));
    } else if (verb == "take") {
        pool().take(backend(words.at(1)), workload(words.at(2)));
    } else if (verb == "closing") {
        pool().on_closing(backend(words.at(1)));
    } else if (verb == "orphaned") {
        pool().on_orphaned(backend(words.at(1)));
    } else if (verb == "gone") {
        pool().on_gone(backend(words.at(1)), now_);
    } else if (verb == "unpin") {
        pool().drop_pin(workload(words.at(1)));
    } else {
        return false;
    }
    return true;
}

std::string PoolScript::ask_something(const Words& words) {
    const std::string& verb = words[0];
    if (verb == "pin") {
        if (!pool().can_pin(workload(words.at(1)))) return "no";
        pool().reserve_pin(workload(words[1]));
        return "yes";
    }
    if (verb == "greeting") {
        return pool().greeting_known(group(words.at(1))) ? "known" : "unknown";
    }
    if (verb == "counts") return render_counts(pool().counts());
    if (verb == "waiting") return std::to_string(pool().waiting_count());
    if (verb == "lent") return std::to_string(pool().workload(workload(words.at(1))).lent);
    if (verb == "total") return total(words.at(1));
    if (verb == "reachable") return pool().reachable() ? "yes" : "no";
    if (verb == "deadline") return in_milliseconds(pool().next_deadline());
    throw std::invalid_argument("unknown step " + verb);
}

std::string PoolScript::total(const std::string& name) const {
    const PoolTotals& totals = pool_->totals();
    if (name == "connects") return std::to_string(totals.connects);
    if (name == "connect_failures") return std::to_string(totals.connect_failures);
    if (name == "swaps") return std::to_string(totals.swaps);
    if (name == "lends") return std::to_string(totals.lends);
    if (name == "worn_out") return std::to_string(totals.worn_out);
    throw std::invalid_argument("unknown total " + name);
}

std::string PoolScript::render_actions() {
    std::string text;
    for (const PoolAction& action : out_) {
        if (!text.empty()) text += ", ";
        text += render(action);
    }
    out_.clear();
    return text;
}

std::string PoolScript::render(const PoolAction& action) {
    const auto waiter_name = [&] {
        const auto found = std::find_if(waiters_.begin(), waiters_.end(), [&](const auto& entry) {
            return entry.second.get() == action.waiter;
        });
        return found == waiters_.end() ? std::string("?") : found->first;
    };
    switch (action.kind) {
        case PoolActionKind::connect: {
            const std::string name = "b" + std::to_string(backends_.size() + 1);
            backends_[name] = action.backend;
            return "connect " + name + " " + group_names_.at(action.group);
        }
        case PoolActionKind::close: return "close " + name_of(action.backend);
        case PoolActionKind::lend: return "lend " + waiter_name() + " " + name_of(action.backend);
        case PoolActionKind::greet: return "greet " + waiter_name();
        case PoolActionKind::forget: return "forget " + group_names_.at(action.group);
        case PoolActionKind::refuse: break;
    }
    std::string text = "refuse " + waiter_name() + " " + std::string(word_of(action.refusal));
    if (action.trouble != nullptr) {
        text += " " + (action.trouble->sqlstate.empty() ? "-" : action.trouble->sqlstate);
    }
    return text;
}

std::string PoolScript::name_of(BackendId id) {
    const auto found = std::find_if(backends_.begin(), backends_.end(),
                                    [&](const auto& entry) { return entry.second == id; });
    return found == backends_.end() ? "?" : found->first;
}

Pool& PoolScript::pool() {
    if (pool_ == nullptr) pool_ = std::make_unique<Pool>(settings_, workloads_);
    return *pool_;
}

PoolWaiter& PoolScript::waiter(const std::string& name) {
    auto& place = waiters_[name];
    if (place == nullptr) place = std::make_unique<PoolWaiter>();
    return *place;
}

WorkloadIndex PoolScript::workload(const std::string& name) const {
    const auto found = std::find(workload_names_.begin(), workload_names_.end(), name);
    if (found == workload_names_.end()) throw std::invalid_argument("unknown workload " + name);
    return static_cast<WorkloadIndex>(found - workload_names_.begin());
}

}  // namespace pgb::test
