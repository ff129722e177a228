#pragma once

#include <memory>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/session/session.h"
#include "proxy/session/session_seed.h"

namespace pgb {

class SessionSlot;
struct AwakeTag;

/// The sessions that have memory of their own, and when to look which of them may give it back.
///
///                     anything happens to it
///     at rest: a seed ----------------------> awake: a Session
///                    <----------------------
///            look(): silent for kSilence and Session::is_at_rest()
///
/// An idle client costs a seed and not a machine of more than a kilobyte; a busy one pays nothing
/// for it, since it never comes to rest. Outlives its slots.
class AwakeSessions {
public:
    /// Long beside the pauses of a program at work, short beside those of one that waits for people.
    static constexpr Duration kSilence = std::chrono::seconds(1);

    /// Both outlive this.
    AwakeSessions(const SessionTables& tables, StatementRegistry& registry)
        : tables_(tables), registry_(registry) {}

    /// Session::class_by() of all, also of those that will wake.
    void class_by(ClassedBy what);
    /// Puts to rest who may rest.
    void look(Instant now);
    /// When to look next; never(): nobody is awake.
    [[nodiscard]] Instant next_look(Instant now);
    [[nodiscard]] std::size_t size() const { return awake_.size(); }

private:
    friend class SessionSlot;
    // At a time; a look costs a hundred nanoseconds, and the loop has other things to do.
    static constexpr std::size_t kLooksMax = 1000;
    static constexpr Duration kPause = std::chrono::milliseconds(10);

    const SessionTables& tables_;
    StatementRegistry& registry_;
    IntrusiveList<SessionSlot, AwakeTag> awake_;  // looked at longest ago first
    std::size_t looks_left_ = 0;                  // of this round
    Instant next_look_ = Instant::never();
    ClassedBy classed_by_ = ClassedBy::login;
};

/// The place of one session, whether it is awake or at rest; `->` wakes it.
class SessionSlot : public ListHook<AwakeTag> {
public:
    explicit SessionSlot(AwakeSessions& home) : home_(home) {}
    ~SessionSlot() {
        if (session_ != nullptr) home_.awake_.remove(*this);
    }
    SessionSlot(const SessionSlot&) = delete;
    SessionSlot& operator=(const SessionSlot&) = delete;

    /// At login, when nothing has happened yet.
    void begin(SessionSeed seed) {
        PGB_CHECK(session_ == nullptr);
        seed_ = std::move(seed);
    }

    Session& operator*() {
        if (session_ == nullptr) wake();
        return *session_;
    }
    Session* operator->() { return &**this; }
    /// Of one that is awake, as a session in a transaction always is.
    const Session* operator->() const {
        PGB_CHECK(session_ != nullptr);
        return session_.get();
    }

    // What may be asked and told without waking it.
    [[nodiscard]] bool is_awake() const { return session_ != nullptr; }
    [[nodiscard]] SessionState state() const {
        return session_ != nullptr ? session_->state() : SessionState::idle;
    }
    [[nodiscard]] std::string_view told(std::string_view parameter) const;
    [[nodiscard]] Instant idle_since() const {
        return session_ != nullptr ? session_->idle_since() : seed_.last_activity;
    }
    void note_frontend_activity(Instant now) {
        if (session_ != nullptr) {
            session_->note_frontend_activity(now);
        } else {
            seed_.last_activity = now;
        }
    }

private:
    friend class AwakeSessions;
    void wake();
    /// False: it may not rest yet.
    bool rest(Instant now);

    AwakeSessions& home_;
    std::unique_ptr<Session> session_;
    SessionSeed seed_;  // counts while it is at rest
};

}  // namespace pgb
