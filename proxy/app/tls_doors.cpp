#include "proxy/app/tls_doors.h"

#include <utility>

namespace pgb {

TlsFiles tls_files(const config::Tls& tls) {
    return {.cert = tls.cert.value_or(""),
            .key = tls.key.value_or(""),
            .client_ca = tls.client_ca.value_or(""),
            .only_tls13 = tls.min_version == "1.3"};
}

TlsFiles tls_files(const config::AdminTls& tls) {
    return {.cert = tls.cert.value_or(""),
            .key = tls.key.value_or(""),
            .client_ca = tls.client_ca.value_or(""),
            .demands_certificate = tls.client_ca.has_value(),
            .protocol = "http/1.1"};
}

Result<const DoorTls*> TlsDoors::open(const config::Listener& listener) {
    if (listener.tls.mode == config::TlsMode::disable) return nullptr;
    auto door = std::make_unique<DoorTls>();
    door->name = listener.name;
    door->files = tls_files(listener.tls);
    door->is_required = listener.tls.mode == config::TlsMode::require;
    if (handshaker_ == nullptr) {
        handshaker_ = std::make_unique<TlsHandshaker>(loop_, on_handshake_);
    }
    return add(std::move(door));
}

Result<const DoorTls*> TlsDoors::open(const config::AdminTls& tls) {
    if (!tls.cert) return nullptr;
    auto door = std::make_unique<DoorTls>();
    door->name = "admin";
    door->files = tls_files(tls);
    door->is_required = true;
    return add(std::move(door));
}

Result<const DoorTls*> TlsDoors::add(std::unique_ptr<DoorTls> door) {
    // Watched before they are read: what changes in between is told.
    for (const std::string& file : {door->files.cert, door->files.key, door->files.client_ca}) {
        if (!file.empty()) watch(*door, file);
    }
    auto loaded = TlsContext::load(door->files);
    if (!loaded) return Error{"tls of \"" + door->name + "\": " + loaded.error().message, 0};
    put_in_force(*door, std::move(loaded.value()));
    doors_.push_back(std::move(door));
    return doors_.back().get();
}

void TlsDoors::watch(DoorTls& door, const std::string& file) {
    door.watches.push_back(std::make_unique<FileWatch>(
        loop_, file, FileState::of(file),
        FileWatch::Callbacks{
            .on_change = [this, &door] { load_anew(door); },
            .on_trouble =
                [this](const std::string& folder, const std::string& why) {
                    log_.warn("tls_files_not_watched", {{"folder", folder}, {"message", why}});
                }}));
}

void TlsDoors::reload() {
    for (const auto& door : doors_) load_anew(*door);
}

void TlsDoors::load_anew(DoorTls& door) {
    for (const auto& watch : door.watches) watch->note_read();
    auto loaded = TlsContext::load(door.files);
    if (!loaded) {
        log_.error("tls_reload_failed", {{"door", door.name},
                                         {"message", loaded.error().message},
                                         {"note", "nothing has changed"}});
        return;
    }
    put_in_force(door, std::move(loaded.value()));
}

void TlsDoors::put_in_force(DoorTls& door, std::shared_ptr<const TlsContext> context) {
    log_.info("tls_loaded", {{"door", door.name},
                             {"certificate", door.files.cert},
                             {"subject", context->subject()},
                             {"expires", context->expiry()}});
    door.context.replace(std::move(context));
}

}  // namespace pgb
