#pragma once

#include <uv.h>

namespace pgb {

/// Closes a handle that was made with new and deletes it when libuv has let go of it, in the
/// closing phase of a later turn: a handle must not die inside its own callback.
template <typename Handle>
void close_and_delete(Handle* handle) {
    handle->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
}

}  // namespace pgb
