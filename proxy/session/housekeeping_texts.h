#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pgb {

/// Whether a text is housekeeping: what pools and drivers send by themselves to find out whether a
/// connection lives, to clean it, or to start up. It has a lane of its own, so that a full budget
/// never costs anybody a connection.
enum class Housekeeping : std::uint8_t {
    no,
    /// In a transaction of its own only: inside a block it would be part of the work.
    alone,
    /// Also where BEGIN was answered and nothing was sent yet: it runs in a transaction of the proxy's
    /// of the same modes, and cannot tell. Drivers that open a block before everything start up there.
    also_in_virtual_block,
    /// The same, if the block is known to take a snapshot for each statement.
    ping,
    /// Alone, and so frequent in some programs that it takes a permit of its workload while one is
    /// free: SET, SHOW, RESET.
    setting,
};

/// A cheap look; false: housekeeping_of() would say no.
[[nodiscard]] inline bool may_be_housekeeping(std::string_view text) {
    // Shorter than SHOW and a name of one letter; everything below may be looked at.
    if (text.size() < 6) return false;
    const auto letter = [text](std::size_t at) { return text[at] | 0x20; };
    switch (letter(0)) {
        case 's':
            if (letter(1) == 'h') return true;
            if (letter(1) != 'e') return false;
            if (letter(2) == 't') return true;
            if (letter(2) != 'l' || text.size() < 8) return false;
            if (text[6] != ' ') return text[6] < ' ';
            // The first letters of what the texts of ours select.
            switch (letter(7)) {
                case '1': return text.size() == 8 || text[8] <= ' ' || text[8] == ';';
                case 'c': return letter(8) == 'u';
                case 'v': return letter(8) == 'e';
                case 'p': return letter(8) == 'g';
                case 's': return letter(8) == 'e';
                case 'b':
                case 't': return text[8] == '.';
                case 'n': return text[8] == 's';
                case '\'':
                case '*': return true;
                default: return text[7] <= ' ';
            }
        case 'w': return letter(5) == 'r';
        case 'c': return letter(1) == 'l' || (letter(1) == 'o' && letter(4) == 'i');
        case 'd': return letter(1) == 'i' || letter(2) == 'a';
        case 'r': return letter(1) == 'o' || letter(2) == 's';
        case 'u': return letter(1) == 'n';
        default: return text[0] <= ' ';
    }
}

/// By exact texts, in any case of letters and however blanked, and by grammar where a text can do no
/// work: SET, SHOW and RESET, the two ends of a prepared transaction, sequences of resets, DEALLOCATE.
[[nodiscard]] Housekeeping find_housekeeping(std::string_view text);
[[nodiscard]] inline Housekeeping housekeeping_of(std::string_view text) {
    return may_be_housekeeping(text) ? find_housekeeping(text) : Housekeeping::no;
}

}  // namespace pgb
