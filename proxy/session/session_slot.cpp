#include "proxy/session/session_slot.h"

#include <algorithm>

namespace pgb {

void AwakeSessions::look(Instant now) {
    if (now < next_look_) return;
    if (looks_left_ == 0 || looks_left_ > awake_.size()) looks_left_ = awake_.size();
    const std::size_t count = std::min(looks_left_, kLooksMax);
    looks_left_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
        SessionSlot& slot = awake_.pop_front();
        // It stays where it was, behind those that are looked at later.
        if (!slot.rest(now)) awake_.push_back(slot);
    }
    next_look_ = looks_left_ > 0 ? now + kPause : Instant::never();
}

void AwakeSessions::class_by(ClassedBy what) {
    classed_by_ = what;
    awake_.for_each([what](SessionSlot& slot) { slot.session_->class_by(what); });
}

Instant AwakeSessions::next_look(Instant now) {
    if (awake_.empty()) {
        next_look_ = Instant::never();
    } else if (next_look_.is_never()) {
        next_look_ = now + kSilence;
    }
    return next_look_;
}

std::string_view SessionSlot::told(std::string_view parameter) const {
    if (session_ != nullptr) return session_->told(parameter);
    return seed_.told.value(parameter).value_or(std::string_view());
}

void SessionSlot::wake() {
    session_ = std::make_unique<Session>(home_.tables_, home_.registry_, seed_);
    session_->class_by(home_.classed_by_);
    home_.awake_.push_back(*this);
}

bool SessionSlot::rest(Instant now) {
    const Instant silent_since = session_->idle_since();
    if (silent_since.is_never() || now - silent_since < AwakeSessions::kSilence) return false;
    if (!session_->is_at_rest()) return false;
    seed_ = session_->seed();
    session_.reset();
    return true;
}

}  // namespace pgb
