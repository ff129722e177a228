#include "proxy/gate/due_heap.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

struct Item;
struct Tag;
struct Item : DueHook<Tag> {
    int value = 0;
};

TEST_CASE("due heap: what is due first comes out first, and together in the order they went in") {
    std::mt19937 random(1);
    std::vector<Item> items(300);
    DueHeap<Item, Tag> heap;
    std::vector<std::pair<Instant, Item*>> model;  // kept in order
    for (int step = 0; step < 40'000; ++step) {
        Item& item = items[random() % items.size()];
        const auto place = std::find_if(model.begin(), model.end(),
                                        [&](const auto& pair) { return pair.second == &item; });
        REQUIRE(item.is_due_some_day() == (place != model.end()));
        if (place != model.end() && random() % 3 != 0) {
            heap.remove(item);
            model.erase(place);
        } else if (place == model.end() && random() % 4 != 0) {
            const Instant due{Duration(static_cast<Duration::rep>(random() % 50))};
            heap.push(item, due);
            model.insert(std::find_if(model.begin(), model.end(),
                                      [&](const auto& pair) { return pair.first > due; }),
                         {due, &item});
        } else if (!model.empty()) {
            REQUIRE(&heap.pop() == model.front().second);
            model.erase(model.begin());
        }
        REQUIRE(heap.empty() == model.empty());
        REQUIRE(heap.first_due() == (model.empty() ? Instant::never() : model.front().first));
    }
    while (!heap.empty()) {
        REQUIRE(&heap.pop() == model.front().second);
        model.erase(model.begin());
    }
    CHECK(model.empty());
}

}  // namespace
}  // namespace pgb::test
