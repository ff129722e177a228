// Plays a corpus without libFuzzer, with any compiler: each input and its beginnings.
// usage: fuzz_replay TARGET FOLDER

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#define PGB_FUZZ_TARGET(name) \
    extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "tests/fuzz/targets.inc"
#undef PGB_FUZZ_TARGET

namespace {

struct Target {
    std::string_view name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target kTargets[] = {
#define PGB_FUZZ_TARGET(name) {#name, fuzz_##name},
#include "tests/fuzz/targets.inc"
#undef PGB_FUZZ_TARGET
};

// Of a long input only so many beginnings, spread over it.
constexpr std::size_t kBeginningsMax = 64;

// Each has its own memory, so that a read behind its end is seen.
void play(const Target& target, std::string_view bytes) {
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    target.run(input.data(), input.size());
}

int play_folder(const Target& target, const std::filesystem::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        // The last words before a crash tell which input it was.
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);
        play(target, bytes);
        const std::size_t step = std::max<std::size_t>(1, bytes.size() / kBeginningsMax);
        for (std::size_t cut = 0; cut < bytes.size(); cut += step) {
            play(target, std::string_view(bytes).substr(0, cut));
        }
        ++count;
    }
    std::printf("%zu inputs\n", count);
    return count > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    for (const Target& target : kTargets) {
        if (target.name == argv[1]) return play_folder(target, argv[2]);
    }
    std::fprintf(stderr, "no such target\n");
    return 2;
}
