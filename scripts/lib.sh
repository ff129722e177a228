# shellcheck shell=bash
# What all scripts share: where the project is, how they speak, and `-h`.
# Sourced right after `set -euo pipefail`; it changes into the root of the project.

script_path=$(realpath "$0")
readonly script_path
# Where the caller stood: file names of the command line are seen from there.
# shellcheck disable=SC2034
readonly caller_folder=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# Catch2, spdlog and the compilers say what they mean in English whatever the machine's language.
export LC_ALL=C.UTF-8

say() { printf '==> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The usage of a script is the comment at its head.
print_usage() { sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$script_path"; }

# print_usage_if_asked "$@"
print_usage_if_asked() {
    local word
    for word in "$@"; do
        case $word in
            -h | --help)
                print_usage
                exit 0
                ;;
        esac
    done
}

# For a word of the command line that the script does not know.
die_of_usage() {
    printf '%s: what is "%s"?\n\n' "$(basename "$0")" "$1" >&2
    print_usage >&2
    exit 2
}

# sources PATTERN…: hand-written files, tracked or not yet tracked, as git sees them; one a line.
sources() {
    git -c safe.directory='*' ls-files -co --exclude-standard -- "$@" | sort -u |
        while IFS= read -r file; do if [[ -f $file ]]; then printf '%s\n' "$file"; fi; done
}
