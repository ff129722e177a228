// What a client does with named prepared statements, and to find out whether its connection lives.

#include "tests/sim/client.h"

namespace pgb::sim {

namespace {
const std::string kExecute("\0\0\0\0\0", 5);
}

// A Parse that comes alone may be answered before a backend is had, from its second time on: all of
// a session's named statements have the same text.
void Client::act_named() {
    const std::string text = "select 's" + std::to_string(session_) + "u0n0'";
    const std::uint32_t form = dice_.below(4);
    const std::string fresh = "n" + std::to_string(names_);
    const std::string name =
        names_ == 0 ? fresh : "n" + std::to_string(dice_.below(static_cast<std::uint32_t>(names_)));
    switch (form) {
        case 0:
        case 1:
            begin_unit(form == 0 ? "named" : "named, alone", form == 0 ? "12DC" : "1");
            units_.back().makes = fresh;
            known_[fresh] = {units_.size() - 1, false};
            ++names_;
            parse(fresh, text);
            if (form == 1) break;
            bind(fresh);
            message('E', kExecute);
            break;
        case 2: {
            begin_unit("bind named again", "2DC");
            const auto found = known_.find(name);
            if (found != known_.end() && found->second.made) units_.back().needs = name;
            bind(name);
            message('E', kExecute);
            break;
        }
        default:
            begin_unit("close named", "3");
            known_.erase(name);
            message('C', "S" + name + std::string(1, '\0'));
            break;
    }
    sync();
    close_transaction_unit();
}

// A name lives from its answered Parse to what drops it, on whatever backend.
void Client::note_name(const Unit& unit, std::size_t number) {
    if (unit.makes.empty() || unit.got.empty() || unit.got[0] != '1') return;
    const auto found = known_.find(unit.makes);
    if (found != known_.end() && found->second.unit == number) found->second.made = true;
}

// Housekeeping; the last form looks at its statement before it binds it.
void Client::act_ping() {
    const std::uint32_t form = dice_.below(3);
    begin_unit("ping", form == 0 ? "TDC" : form == 1 ? "12TDC" : "1tT2DC");
    if (form == 0) return query("select 1");
    if (form == 1) {
        run_statement("select 1", true);
    } else {
        parse("", "select 1");
        message('D', std::string("S\0", 2));
        message('H', "");
        bind("");
        message('E', kExecute);
    }
    unnamed_known_ = false;
    sync();
    close_transaction_unit();
}

}  // namespace pgb::sim
