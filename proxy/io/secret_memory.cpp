#include "proxy/io/secret_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {

struct File {
    explicit File(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~File() {
        if (fd >= 0) close(fd);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    int fd;
};

Error last_error(const std::string& path) {
    return {"cannot read " + path + ": " + std::strerror(errno), errno};
}

}  // namespace

SecretMemory::SecretMemory(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* const pages =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PGB_CHECK(pages != MAP_FAILED);
    data_ = static_cast<char*>(pages);
    // Both are as good as the system lets them be; what is in the pages works without.
    (void)madvise(pages, size, MADV_DONTDUMP);
    (void)mlock(pages, size);
}

SecretMemory::SecretMemory(std::string_view secret) : SecretMemory(secret.size()) {
    if (!secret.empty()) std::memcpy(data_, secret.data(), secret.size());
}

SecretMemory::~SecretMemory() { give_back(); }

SecretMemory::SecretMemory(SecretMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretMemory& SecretMemory::operator=(SecretMemory&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
}

void SecretMemory::give_back() {
    if (data_ == nullptr) return;
    explicit_bzero(data_, size_);
    (void)munmap(data_, size_);
}

Result<SecretMemory> read_secret_file(const std::string& path, std::size_t size_max) {
    const File file(path);
    struct stat facts {};
    if (file.fd < 0 || fstat(file.fd, &facts) != 0) return last_error(path);
    if (!S_ISREG(facts.st_mode)) return Error{path + " is no file"};
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size > size_max) {
        return Error{path + " has more than " + std::to_string(size_max) + " bytes"};
    }
    SecretMemory memory(size);
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t count = read(file.fd, memory.bytes().data() + filled, size - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return last_error(path);
        // It was written to in the meantime; whoever did that is told of again.
        if (count == 0) return Error{path + " has become shorter while it was read"};
        filled += static_cast<std::size_t>(count);
    }
    return memory;
}

}  // namespace pgb
