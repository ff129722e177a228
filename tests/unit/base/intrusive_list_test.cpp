#include "proxy/base/intrusive_list.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

struct Red;
struct Blue;

struct Item : ListHook<Red>, ListHook<Blue> {
    explicit Item(int n = 0) : number(n) {}
    int number;
};
using RedList = IntrusiveList<Item, Red>;
using BlueList = IntrusiveList<Item, Blue>;

bool in_red(const Item& item) { return static_cast<const ListHook<Red>&>(item).is_linked(); }

std::vector<int> numbers(const RedList& list) {
    std::vector<int> found;
    list.for_each([&](const Item& item) { found.push_back(item.number); });
    return found;
}
void clear(RedList& list) {
    while (!list.empty()) list.pop_front();
}

TEST_CASE("intrusive list: it starts empty and ends as it was filled") {
    Item one(1), two(2), three(3);
    RedList list;
    CHECK(list.empty());
    CHECK(list.size() == 0);
    list.push_back(two);
    list.push_back(three);
    list.push_front(one);
    CHECK(numbers(list) == std::vector<int>{1, 2, 3});
    CHECK(list.size() == 3);
    CHECK(&list.front() == &one);
    CHECK(&list.back() == &three);
    clear(list);
    CHECK(list.empty());
}

TEST_CASE("intrusive list: an element is linked exactly while it is in the list") {
    Item one(1);
    RedList list;
    CHECK(!in_red(one));
    list.push_back(one);
    CHECK(in_red(one));
    CHECK(&list.pop_front() == &one);
    CHECK(!in_red(one));
    list.push_back(one);
    list.remove(one);
    CHECK(!in_red(one));
}

TEST_CASE("intrusive list: first, middle and last can be removed") {
    std::vector<Item> items(5);
    for (int i = 0; i < 5; ++i) items[static_cast<std::size_t>(i)].number = i;
    RedList list;
    for (Item& item : items) list.push_back(item);
    list.remove(items[2]);
    list.remove(items[0]);
    list.remove(items[4]);
    CHECK(numbers(list) == std::vector<int>{1, 3});
    CHECK(list.size() == 2);
    clear(list);
}

TEST_CASE("intrusive list: lists of different tags do not touch") {
    Item one(1), two(2);
    RedList red;
    BlueList blue;
    red.push_back(one);
    red.push_back(two);
    blue.push_back(two);
    red.remove(two);
    CHECK(&blue.front() == &two);
    CHECK(numbers(red) == std::vector<int>{1});
    blue.pop_front();
    clear(red);
}

TEST_CASE("intrusive list: a visitor may remove the element it is given") {
    std::vector<Item> items(6);
    for (int i = 0; i < 6; ++i) items[static_cast<std::size_t>(i)].number = i;
    RedList list;
    for (Item& item : items) list.push_back(item);
    list.for_each([&](Item& item) {
        if (item.number % 2 == 0) list.remove(item);
    });
    CHECK(numbers(list) == std::vector<int>{1, 3, 5});
    clear(list);
}

TEST_CASE("intrusive list: 20,000 random steps leave it equal to a vector") {
    std::mt19937 random(1);
    std::vector<Item> items(50);
    for (int i = 0; i < 50; ++i) items[static_cast<std::size_t>(i)].number = i;
    RedList list;
    std::vector<int> model;
    for (int step = 0; step < 20'000; ++step) {
        Item& item = items[random() % items.size()];
        const auto place = std::find(model.begin(), model.end(), item.number);
        if (place != model.end()) {
            list.remove(item);
            model.erase(place);
        } else if (random() % 2 == 0) {
            list.push_back(item);
            model.push_back(item.number);
        } else {
            list.push_front(item);
            model.insert(model.begin(), item.number);
        }
        REQUIRE(numbers(list) == model);
        REQUIRE(list.size() == model.size());
    }
    clear(list);
}

}  // namespace
}  // namespace pgb::test
