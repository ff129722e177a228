// Housekeeping (housekeeping_texts.h): which messages ask for a permit of its lane, and how their
// lease ends behind them. All of the unit is seen before the permit is asked for, so nothing else can
// come in with it.
//
// A batch that has only parsed and described before its Flush ends there, by a Sync of the proxy's:
// asyncpg looks at a statement that way before it binds it, and the lane is not held while it thinks.
// Such a batch has done nothing that a Sync could commit.

#include <algorithm>
#include <array>

#include "protocol/error_response.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "proxy/session/session.h"

namespace pgb {

namespace {

// With a ping a program may take the block's snapshot, where it has one.
bool fits_virtual_block(Housekeeping kind, const TransactionModes& modes) {
    if (kind == Housekeeping::also_in_virtual_block) return true;
    return kind == Housekeeping::ping && (modes.isolation == IsolationLevel::read_committed ||
                                          modes.isolation == IsolationLevel::read_uncommitted);
}

// Of a batch that begins with housekeeping: more than any driver's; up to there its end is waited for.
constexpr std::size_t kBatchMax = 16384;
constexpr std::size_t kParsedMax = 4;

std::size_t size_at(std::string_view bytes) {
    std::size_t size = 0;
    for (std::size_t i = 1; i < kMessageHeaderSize; ++i) {
        size = size << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return size + 1;
}

/// Reads a batch up to where its lease would end.
class Batch {
public:
    enum class End : std::uint8_t { sync, flush, none, other_work };

    Batch(const SessionStatements& statements, const VirtualBlock& block)
        : statements_(statements), block_(block) {}

    /// None: it goes on.
    End take(char type, std::string_view body) {
        switch (type) {
            case 'P': return take_parse(parse_parse(body, true));
            case 'B': return take_bind(parse_bind(body, true));
            case 'D':
            case 'E':
            case 'C': return End::none;
            case 'H':
                if (!runs_ && body.empty()) return End::flush;
                // It waits for answers, and what it does then is not known.
                return End::other_work;
            case 'S': return body.empty() ? End::sync : End::other_work;
            default: return End::other_work;
        }
    }

private:
    [[nodiscard]] bool fits(Housekeeping kind) const {
        if (block_.state() == VirtualBlock::State::none) return kind != Housekeeping::no;
        return fits_virtual_block(kind, block_.modes());
    }

    End take_parse(const ParseRequest& parse) {
        if (!parse.well_formed() || parsed_count_ == kParsedMax) return End::other_work;
        if (!fits(housekeeping_of(parse.text))) return End::other_work;
        parsed_[parsed_count_++] = parse.name;
        return End::none;
    }

    End take_bind(const BindRequest& bind) {
        runs_ = true;
        if (!bind.well_formed()) return End::other_work;
        const auto end = parsed_.begin() + static_cast<std::ptrdiff_t>(parsed_count_);
        if (std::find(parsed_.begin(), end, bind.statement) != end) return End::none;
        const StatementFacts* facts = statements_.facts(bind.statement);
        const bool known = facts != nullptr && fits(facts->does.housekeeping);
        return known ? End::none : End::other_work;
    }

    const SessionStatements& statements_;
    const VirtualBlock& block_;
    bool runs_ = false;
    std::array<std::string_view, kParsedMax> parsed_{};
    std::size_t parsed_count_ = 0;
};

}  // namespace

// False: the message waits for the rest of its batch. PostgreSQL, too, answers none of it before.
bool Session::ask_in_lane(Housekeeping kind, const Frame& frame, std::string_view behind) {
    if (!is_housekeeping_here(kind)) return true;
    house_kind_ = kind;
    if (frame.type == static_cast<char>(FrontendType::query)) {
        house_unit_ = HouseUnit::to_sync;
        return true;
    }
    return lane_of_batch(frame, behind) != Lane::not_known_yet;
}

bool Session::is_housekeeping_here(Housekeeping kind) const {
    if (kind == Housekeeping::no || is_resident()) return false;
    if (block_.state() == VirtualBlock::State::none) return true;
    return block_.state() == VirtualBlock::State::open && fits_virtual_block(kind, block_.modes());
}

Session::Lane Session::lane_of_batch(const Frame& frame, std::string_view behind) {
    Batch batch(statements_, block_);
    Batch::End end = batch.take(frame.type, frame.body());
    std::size_t seen = frame.bytes.size();
    while (end == Batch::End::none) {
        const bool has_size = behind.size() >= kMessageHeaderSize;
        const std::size_t size = has_size ? size_at(behind) : kMessageHeaderSize;
        if (size < kMessageHeaderSize || seen + size > kBatchMax) return Lane::workload;
        if (behind.size() < size) return Lane::not_known_yet;
        end = batch.take(behind[0], behind.substr(0, size).substr(kMessageHeaderSize));
        seen += size;
        behind.remove_prefix(size);
    }
    if (end == Batch::End::other_work) return Lane::workload;
    house_unit_ = end == Batch::End::sync ? HouseUnit::to_sync : HouseUnit::to_flush;
    return Lane::housekeeping;
}

bool Session::end_batch_at_flush(Outbox& out) {
    std::string& sync = out.scratch();
    append_sync(sync, ledger_);
    out.to_backend(sync);
    frontend_rest_ = Rest::drop;
    lease_.first_unit_sent = true;
    ++lease_.sync_points;
    return true;
}

// Only a transaction of the proxy's has run, of the same modes; what failed in it has failed the block
// all the same.
void Session::answer_in_virtual_block(Outbox& out) {
    if (lease_.error_seen && block_.state() == VirtualBlock::State::open) block_.fail();
    if (lease_.muted) return;
    std::string& ready = out.scratch();
    append_ready_for_query(ready, block_.status());
    out.to_frontend(ready);
}

// Its frontend waits for what the Flush was to bring.
void Session::tell_flushed_batch_lost(Outbox& out) {
    if (ledger_.error_told() || lease_.error_seen) {
        local_.fail_open_batch();
        return;
    }
    std::string& reply = out.scratch();
    append_error(reply, {.sqlstate = sqlstate::kSerializationFailure,
                         .message = "the backend was lost before anything was run on it",
                         .hint = "retry_after_ms=1 reason=backend_lost",
                         .routine = "backend_lost"});
    local_.fail_batch(reply, out);
}

// True when housekeeping has had its time: PostgreSQL says so, by its own 57014.
bool Session::check_statement_time(const Turn& turn, Outbox& out) {
    if (rules_.statement == Duration::zero() || lease_.unit == HouseUnit::none) return false;
    if (!lease_.worked || lease_.commit_sent || ledger_.settled()) return false;
    if (turn.now - lease_.transaction_since < rules_.statement) return false;
    cancel_or_lose(turn, out);
    return true;
}

}  // namespace pgb
