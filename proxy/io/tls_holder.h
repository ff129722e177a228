#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "proxy/io/tls_context.h"

namespace pgb {

/// The context that serves the next client, for whoever asks on any thread.
class TlsHolder {
public:
    [[nodiscard]] std::shared_ptr<const TlsContext> current() const {
        const std::lock_guard lock(mutex_);
        return context_;
    }
    void replace(std::shared_ptr<const TlsContext> context) {
        const std::lock_guard lock(mutex_);
        context_.swap(context);
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const TlsContext> context_;
};

}  // namespace pgb
