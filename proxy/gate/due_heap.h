#pragma once

#include <cstdint>

#include "proxy/base/check.h"
#include "proxy/base/instant.h"

namespace pgb {

template <typename T, typename Tag>
class DueHeap;

/// A place in at most one DueHeap of its tag; base class of what is due some day. Must be out of
/// the heap before it dies.
template <typename Tag>
class DueHook {
public:
    DueHook() = default;
    DueHook(const DueHook&) = delete;
    DueHook& operator=(const DueHook&) = delete;
    ~DueHook() { PGB_CHECK(!is_due_some_day()); }

    [[nodiscard]] bool is_due_some_day() const { return before_ != nullptr; }

private:
    template <typename T, typename U>
    friend class DueHeap;
    [[nodiscard]] bool comes_before(const DueHook& other) const {
        return due_ < other.due_ || (due_ == other.due_ && number_ < other.number_);
    }

    Instant due_;
    std::uint64_t number_ = 0;   // in order of push(), for those that are due together
    DueHook* child_ = nullptr;   // the first of those that come later than this one
    DueHook* next_ = nullptr;    // of the same parent
    DueHook* before_ = nullptr;  // the parent of a first child, else the one whose next_ this is
};

/// What is due first comes out first, and of those due together what went in first: a pairing heap
/// whose links live in its elements. No allocation; push() in constant time, pop() and remove() in
/// logarithmic time on average. Owns nothing; elements outlive their stay in it.
template <typename T, typename Tag>
class DueHeap {
    using Hook = DueHook<Tag>;

public:
    DueHeap() = default;
    DueHeap(const DueHeap&) = delete;
    DueHeap& operator=(const DueHeap&) = delete;
    ~DueHeap() { PGB_CHECK(empty()); }

    [[nodiscard]] bool empty() const { return root_ == nullptr; }
    /// When the first is due; never() when there is none.
    [[nodiscard]] Instant first_due() const { return first_due_; }

    void push(T& item, Instant due) {
        Hook& hook = item;
        PGB_CHECK(!hook.is_due_some_day());
        hook.due_ = due;
        hook.number_ = ++pushed_;
        set_root(root_ == nullptr ? &hook : meld(root_, &hook));
    }

    T& pop() {
        PGB_CHECK(!empty());
        Hook* first = root_;
        take_root();
        return static_cast<T&>(*first);
    }

    void remove(T& item) {
        Hook& hook = item;
        PGB_CHECK(hook.is_due_some_day());
        if (&hook == root_) {
            take_root();
            return;
        }
        (hook.before_->child_ == &hook ? hook.before_->child_ : hook.before_->next_) = hook.next_;
        if (hook.next_ != nullptr) hook.next_->before_ = hook.before_;
        Hook* orphans = meld_all(hook.child_);
        forget(hook);
        if (orphans != nullptr) set_root(meld(root_, orphans));
    }

private:
    static void forget(Hook& hook) { hook.child_ = hook.next_ = hook.before_ = nullptr; }

    // The root is in the heap, too: it stands before itself.
    void set_root(Hook* root) {
        root_ = root;
        first_due_ = root_ == nullptr ? Instant::never() : root_->due_;
        if (root_ == nullptr) return;
        root_->before_ = root_;
        root_->next_ = nullptr;
    }

    void take_root() {
        Hook* old = root_;
        set_root(meld_all(old->child_));
        forget(*old);
    }

    // Both are roots of trees of their own; the later one becomes the first child of the other.
    static Hook* meld(Hook* a, Hook* b) {
        Hook* first = b->comes_before(*a) ? b : a;
        Hook* later = first == a ? b : a;
        later->next_ = first->child_;
        if (later->next_ != nullptr) later->next_->before_ = later;
        later->before_ = first;
        first->child_ = later;
        return first;
    }

    // Siblings into one tree: in pairs from the left, then all pairs from the right.
    static Hook* meld_all(Hook* siblings) {
        Hook* pairs = nullptr;  // the latest pair first, linked by next_
        while (siblings != nullptr) {
            Hook* left = siblings;
            Hook* right = left->next_;
            siblings = right == nullptr ? nullptr : right->next_;
            Hook* pair = right == nullptr ? left : meld(left, right);
            pair->next_ = pairs;
            pairs = pair;
        }
        Hook* all = nullptr;
        while (pairs != nullptr) {
            Hook* pair = pairs;
            pairs = pair->next_;
            all = all == nullptr ? pair : meld(all, pair);
        }
        return all;
    }

    Hook* root_ = nullptr;
    Instant first_due_ = Instant::never();
    std::uint64_t pushed_ = 0;
};

}  // namespace pgb
