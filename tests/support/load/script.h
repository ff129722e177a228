#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/result.h"

namespace pgb::load {

/// How the statements of a step travel.
enum class StepKind {
    simple,     ///< a Query message each, the next when the one before is answered
    pipelined,  ///< a Query message each, all in one write
    extended,   ///< Parse, Bind and Execute each and one Sync, all in one write
};

/// Statements that are sent together.
struct Step {
    StepKind kind = StepKind::simple;
    std::vector<std::string> statements;
};

/// A transaction; the next step is sent when the one before is fully answered.
using Script = std::vector<Step>;

/// Bytes that go out in one write, and how many ReadyForQuery they are owed.
struct Framed {
    std::string bytes;
    std::size_t ready_count = 0;
};

/// Frames a step, each `:rnd(N)` in its statements replaced by a number in 1..N.
Framed frame(const Step& step, std::mt19937_64& random);

/// Reads a script: one step a line, `simple SQL`, `pipelined SQL ||| SQL ...` or
/// `extended SQL ||| SQL ...`. Empty lines and lines that start with # are skipped.
Result<Script> parse_script(std::string_view text);

}  // namespace pgb::load
