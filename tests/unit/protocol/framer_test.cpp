#include "protocol/framer.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

namespace {

constexpr std::uint32_t kBufferMax = 16384;

// What every cut of the same bytes must agree on.
struct Seen {
    char type;
    std::uint64_t size;
    std::string body;
    std::string joined;

    bool operator==(const Seen&) const = default;
};

struct Outcome {
    std::vector<Seen> messages;
    bool malformed = false;
    std::size_t kept_max = 0;  // most bytes the caller had to keep for the framer

    bool operator==(const Outcome& other) const {
        return messages == other.messages && malformed == other.malformed;
    }
};

// A connection: bytes arrive in pieces, what the framer does not take is kept.
class Reader {
public:
    explicit Reader(const HeadTable& heads) : framer_(heads) {}

    void arrive(std::string_view bytes) {
        if (outcome_.malformed) return;
        kept_ += bytes;
        std::string_view input = kept_;
        Frame frame;
        FrameStatus status = framer_.next(input, frame);
        for (; status == FrameStatus::frame; status = framer_.next(input, frame)) {
            input.remove_prefix(frame.bytes.size());
            take(frame);
        }
        outcome_.malformed = status == FrameStatus::malformed;
        kept_.erase(0, kept_.size() - input.size());
        outcome_.kept_max = std::max(outcome_.kept_max, kept_.size());
    }

    [[nodiscard]] const Outcome& outcome() const { return outcome_; }
    [[nodiscard]] const Framer& framer() const { return framer_; }

private:
    void take(const Frame& frame) {
        REQUIRE_FALSE(frame.bytes.empty());
        REQUIRE(frame.first != open_);
        if (frame.first)
            outcome_.messages.push_back({frame.type, frame.size, std::string(frame.body()), {}});
        Seen& seen = outcome_.messages.back();
        REQUIRE((seen.type == frame.type && seen.size == frame.size));
        seen.joined += frame.bytes;
        REQUIRE(frame.last == (seen.joined.size() == seen.size));
        open_ = !frame.last;
        REQUIRE(framer_.in_message() == open_);
        REQUIRE(framer_.remaining() == seen.size - seen.joined.size());
    }

    Framer framer_;
    std::string kept_;
    bool open_ = false;
    Outcome outcome_;
};

Outcome read_whole(const HeadTable& heads, std::string_view bytes) {
    Reader reader(heads);
    reader.arrive(bytes);
    return reader.outcome();
}

std::string header(char type, std::uint32_t length) {
    std::string out(1, type);
    MessageWriter(out).u32(length);
    return out;
}

FrameStatus status_of(const HeadTable& heads, std::string_view bytes) {
    Framer framer(heads);
    Frame frame;
    return framer.next(bytes, frame);
}

std::string a_batch() {
    return message('P', "s1\0select $1\0\0\0"_bytes) +
           message('B', "\0s1\0\0\0\0\1\0\0\0\1x\0\0"_bytes) + message('D', "P\0"_bytes) +
           message('E', "\0\0\0\0\0"_bytes) + message('S', "") + message('Q', "begin\0"_bytes) +
           message('~', "odd") + message('d', "1\t2\n") + message('X', "");
}

}  // namespace

TEST_CASE("framer: every single cut of a batch gives the same messages") {
    const HeadTable heads = frontend_heads(kBufferMax);
    const std::string bytes = a_batch();
    const Outcome expected = read_whole(heads, bytes);
    REQUIRE(expected.messages.size() == 9);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        Reader reader(heads);
        reader.arrive(std::string_view(bytes).substr(0, cut));
        reader.arrive(std::string_view(bytes).substr(cut));
        CHECK(reader.outcome() == expected);
    }
}

TEST_CASE("framer: bytes that come one by one give the same messages") {
    for (const std::uint32_t buffer_max : {5U, 6U, 40U, kBufferMax}) {
        const HeadTable heads = frontend_heads(buffer_max);
        const std::string bytes = a_batch();
        Reader reader(heads);
        for (const char byte : bytes) reader.arrive({&byte, 1});
        CHECK(reader.outcome() == read_whole(heads, bytes));
        CHECK_FALSE(reader.framer().in_message());
    }
}

TEST_CASE("framer: sizes around buffer multiples pass, however they are cut") {
    std::mt19937 random(1);
    std::string bytes;
    for (const std::uint32_t unit : {4096U, 16384U, 65536U}) {
        for (std::uint32_t k = 1; k <= 3; ++k) {
            for (std::uint32_t size = k * unit - 2; size <= k * unit + 2; ++size) {
                const char type = "QPBdD"[random() % 5];
                bytes += message(type, std::string(type == 'D' ? 100 : size - 5, 'x'));
            }
        }
    }
    const HeadTable heads = frontend_heads(kBufferMax);
    const Outcome expected = read_whole(heads, bytes);
    REQUIRE(expected.messages.size() == 45);
    for (int round = 0; round < 50; ++round) {
        Reader reader(heads);
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t size = 1 + random() % (round % 2 == 0 ? 70000 : 9000);
            reader.arrive(std::string_view(bytes).substr(at, size));
            at += size;
        }
        CHECK(reader.outcome() == expected);
        CHECK(reader.outcome().kept_max < kBufferMax);
    }
}

TEST_CASE("framer: a body that nobody reads is never kept, whatever its size") {
    const HeadTable heads = frontend_heads(kBufferMax);
    const std::string bytes = message('d', std::string(1 << 20, 'x'));
    Reader reader(heads);
    for (std::size_t at = 0; at < bytes.size(); at += 997) {
        reader.arrive(std::string_view(bytes).substr(at, 997));
    }
    CHECK(reader.outcome().kept_max == 0);
    REQUIRE(reader.outcome().messages.size() == 1);
    CHECK(reader.outcome().messages[0].joined == bytes);
}

TEST_CASE("framer: a head is waited for to its last byte and then not exceeded") {
    const HeadTable heads = frontend_heads(100);
    const std::string bytes = message('Q', std::string(500, 'x'));
    Framer framer(heads);
    Frame frame;
    CHECK(framer.next(std::string_view(bytes).substr(0, 99), frame) == FrameStatus::need_more);
    CHECK_FALSE(framer.in_message());
    REQUIRE(framer.next(std::string_view(bytes).substr(0, 300), frame) == FrameStatus::frame);
    CHECK(frame.bytes.size() == 300);
    CHECK(frame.body().size() == 95);
    CHECK_FALSE(frame.body_is_whole());
    CHECK_FALSE(frame.whole());
    CHECK(framer.remaining() == 205);
}

TEST_CASE("framer: of a message with a small head the body is not shown") {
    const HeadTable heads = backend_heads(kBufferMax);
    Framer framer(heads);
    Frame frame;
    const std::string row = message('D', "\0\1\0\0\0\1x"_bytes);
    REQUIRE(framer.next(row, frame) == FrameStatus::frame);
    CHECK(frame.whole());
    CHECK(frame.body().empty());
    const std::string ready = message('Z', "I");
    REQUIRE(framer.next(ready, frame) == FrameStatus::frame);
    CHECK(frame.body() == "I");
    CHECK(frame.body_is_whole());
}

TEST_CASE("framer: an impossible length word is malformed as soon as it is there") {
    const HeadTable heads = frontend_heads(kBufferMax);
    for (const std::uint32_t length :
         {0U, 1U, 3U, 0x3fffffffU, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
        CHECK(status_of(heads, header('Q', length)) == FrameStatus::malformed);
        CHECK(status_of(heads, header('~', length)) == FrameStatus::malformed);
        CHECK(status_of(heads, header('Q', length).substr(0, 4)) == FrameStatus::need_more);
    }
    CHECK(status_of(heads, "") == FrameStatus::need_more);
}

TEST_CASE("framer: the limits of a frontend's messages are PostgreSQL's") {
    const HeadTable heads = frontend_heads(kBufferMax);
    const auto limit_is = [&heads](char type, std::uint32_t limit) {
        return status_of(heads, header(type, limit)) != FrameStatus::malformed &&
               status_of(heads, header(type, limit + 1)) == FrameStatus::malformed;
    };
    for (const char type : {'Q', 'P', 'B', 'F', 'd'}) CHECK(limit_is(type, 0x3ffffffe));
    for (const char type : {'C', 'D', 'E', 'H', 'S', 'X', 'c', 'f'}) CHECK(limit_is(type, 10000));
    CHECK(limit_is('p', 65535));
}

TEST_CASE("framer: a backend's short messages have libpq's limit and its long ones none") {
    const HeadTable heads = backend_heads(kBufferMax);
    for (const char type : {'Z', 'C', 'K', '1', 'n'}) {
        CHECK(status_of(heads, header(type, 30000)) != FrameStatus::malformed);
        CHECK(status_of(heads, header(type, 30001)) == FrameStatus::malformed);
    }
    for (const char type : {'D', 'd', 'T', 't', 'V', 'E', 'N', 'A', 'S'}) {
        CHECK(status_of(heads, header(type, 0x7fffffff)) != FrameStatus::malformed);
        CHECK(status_of(heads, header(type, 0x80000000)) == FrameStatus::malformed);
    }
}

TEST_CASE("framer: the largest message is counted to its last byte") {
    const HeadTable heads = backend_heads(kBufferMax);
    Framer framer(heads);
    Frame frame;
    REQUIRE(framer.next(header('D', 0x7fffffff), frame) == FrameStatus::frame);
    CHECK(frame.size == 0x80000000);
    const std::string chunk(1 << 20, 'x');
    std::uint64_t seen = frame.bytes.size();
    while (framer.in_message()) {
        REQUIRE(framer.next(chunk, frame) == FrameStatus::frame);
        seen += frame.bytes.size();
    }
    CHECK(seen == 0x80000000);
    CHECK(frame.last);
}

TEST_CASE("framer: after reset a begun message is forgotten") {
    const HeadTable heads = frontend_heads(kBufferMax);
    Framer framer(heads);
    Frame frame;
    REQUIRE(framer.next(header('d', 1000), frame) == FrameStatus::frame);
    REQUIRE(framer.in_message());
    CHECK(framer.next("", frame) == FrameStatus::need_more);
    framer.reset();
    CHECK_FALSE(framer.in_message());
    REQUIRE(framer.next(message('S', ""), frame) == FrameStatus::frame);
    CHECK(frame.whole());
}

}  // namespace pgb
