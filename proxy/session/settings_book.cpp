#include "proxy/session/settings_book.h"

#include <algorithm>
#include <utility>

namespace pgb {

namespace {
constexpr std::string_view kRole = "role";
constexpr std::string_view kAuthorization = "session_authorization";
constexpr std::string_view kEncoding = "client_encoding";
}  // namespace

SettingsBook::Entry SettingsBook::front(std::string_view rest) {
    Entry entry;
    entry.name = rest.substr(0, rest.find('\0'));
    const std::string_view behind = rest.substr(entry.name.size() + 1);
    entry.text = behind.substr(0, behind.find('\0'));
    entry.size = entry.name.size() + entry.text.size() + 2;
    return entry;
}

std::string_view SettingsBook::text_of(std::string_view name) const {
    for (std::string_view rest = packed_; !rest.empty();) {
        const Entry entry = front(rest);
        if (entry.name == name) return entry.text;
        rest.remove_prefix(entry.size);
    }
    return {};
}

bool SettingsBook::has_other_bytes() const {
    return std::any_of(packed_.begin(), packed_.end(),
                       [](char c) { return static_cast<unsigned char>(c) > 0x7f; });
}

void SettingsBook::remove(std::string_view name) {
    for (std::size_t at = 0; at < packed_.size();) {
        const Entry entry = front(std::string_view(packed_).substr(at));
        if (entry.name == name) {
            packed_.erase(at, entry.size);
        } else {
            at += entry.size;
        }
    }
}

// RESET ALL undoes neither SET SESSION AUTHORIZATION nor SET ROLE.
void SettingsBook::keep_identity_only() {
    std::string kept;
    for (std::string_view rest = packed_; !rest.empty();) {
        const Entry entry = front(rest);
        if (entry.name == kRole || entry.name == kAuthorization) kept += rest.substr(0, entry.size);
        rest.remove_prefix(entry.size);
    }
    packed_ = std::move(kept);
}

bool SettingsBook::set(const SettingChange& change) {
    SettingsBook next = *this;
    next.remove(change.name);
    if (change.name == kAuthorization) next.remove(kRole);
    if (change.name == kEncoding && next.has_other_bytes()) return false;
    ((next.packed_ += change.name) += '\0') += change.text;
    next.packed_ += '\0';
    std::size_t names = 0;
    next.for_each([&names](std::string_view) { ++names; });
    if (names > kNamesMax || next.packed_.size() > kBytesMax) return false;
    *this = std::move(next);
    return true;
}

bool SettingsBook::apply(const SettingChange& change) {
    switch (change.kind) {
        case SettingChange::Kind::set: return set(change);
        case SettingChange::Kind::reset:
            if (change.name == kEncoding && has(kEncoding) && has_other_bytes()) return false;
            remove(change.name);
            if (change.name == kAuthorization) remove(kRole);
            return true;
        case SettingChange::Kind::reset_all: keep_identity_only(); return true;
        case SettingChange::Kind::discard_all: clear(); return true;
    }
    return false;
}

std::uint64_t SettingsBook::fingerprint() const {
    if (packed_.empty()) return 0;
    // FNV-1a; a value that happens to be 0 must not read as an empty book.
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : packed_) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash == 0 ? 1 : hash;
}

}  // namespace pgb
