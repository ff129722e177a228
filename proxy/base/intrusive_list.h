#pragma once

#include <cstddef>

#include "proxy/base/check.h"

namespace pgb {

template <typename T, typename Tag>
class IntrusiveList;

/// A place in at most one list of its tag; base class of what is listed. Must be out of the list
/// before it dies.
template <typename Tag>
class ListHook {
public:
    ListHook() = default;
    ListHook(const ListHook&) = delete;
    ListHook& operator=(const ListHook&) = delete;
    ~ListHook() { PGB_CHECK(!is_linked()); }

    [[nodiscard]] bool is_linked() const { return next_ != nullptr; }

private:
    template <typename T, typename U>
    friend class IntrusiveList;
    ListHook* prev_ = nullptr;
    ListHook* next_ = nullptr;
};

/// A doubly linked list whose links live in its elements: no allocation, removal from the middle
/// in constant time. Owns nothing; elements outlive their stay in it.
template <typename T, typename Tag>
class IntrusiveList {
    using Hook = ListHook<Tag>;

public:
    IntrusiveList() { head_.prev_ = head_.next_ = &head_; }
    IntrusiveList(const IntrusiveList&) = delete;
    IntrusiveList& operator=(const IntrusiveList&) = delete;
    ~IntrusiveList() {
        PGB_CHECK(empty());
        head_.prev_ = head_.next_ = nullptr;
    }

    [[nodiscard]] bool empty() const { return head_.next_ == &head_; }
    [[nodiscard]] std::size_t size() const { return size_; }

    [[nodiscard]] T& front() { return element(*head_.next_); }
    [[nodiscard]] const T& front() const { return static_cast<const T&>(*head_.next_); }
    [[nodiscard]] T& back() { return element(*head_.prev_); }

    void push_back(T& item) { insert_before(head_, item); }
    void push_front(T& item) { insert_before(*head_.next_, item); }

    void remove(T& item) {
        Hook& hook = item;
        PGB_CHECK(hook.is_linked());
        hook.prev_->next_ = hook.next_;
        hook.next_->prev_ = hook.prev_;
        hook.prev_ = hook.next_ = nullptr;
        --size_;
    }

    T& pop_front() {
        PGB_CHECK(!empty());
        T& item = front();
        remove(item);
        return item;
    }

    /// Calls `visit(T&)` in order; `visit` may remove the element it is given, and no other.
    template <typename Visit>
    void for_each(Visit visit) {
        for (Hook* hook = head_.next_; hook != &head_;) {
            Hook* next = hook->next_;
            visit(element(*hook));
            hook = next;
        }
    }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const Hook* hook = head_.next_; hook != &head_; hook = hook->next_) {
            visit(static_cast<const T&>(*hook));
        }
    }

private:
    static T& element(Hook& hook) { return static_cast<T&>(hook); }

    void insert_before(Hook& next, T& item) {
        Hook& hook = item;
        PGB_CHECK(!hook.is_linked());
        hook.prev_ = next.prev_;
        hook.next_ = &next;
        next.prev_->next_ = &hook;
        next.prev_ = &hook;
        ++size_;
    }

    Hook head_;
    std::size_t size_ = 0;
};

}  // namespace pgb
