# bash completion for pgbulkhead. Subcommands and options come from its own `--help`, so they cannot differ from it.

# The words of one section of a help text on standard input: `Subcommands` or `Options`.
_pgbulkhead_words() {
    awk -v section="$1:" '
        /^[A-Z].*:$/ { here = ($0 == section) }
        here && /^  [^ ]/ { gsub(",", " ", $1); print $1 }'
}

_pgbulkhead() {
    local program=$1 current=$2 previous=$3 word subcommand=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $word != -* ]]; then
            subcommand=$word
            break
        fi
    done
    case $previous in
        -c | --config | --ca)
            # What bash offers by itself: files.
            COMPREPLY=()
            return
            ;;
    esac
    local section=Options
    if [[ -z $subcommand && $current != -* ]]; then section=Subcommands; fi
    local words
    # shellcheck disable=SC2086
    words=$("$program" $subcommand --help 2>/dev/null | _pgbulkhead_words "$section")
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _pgbulkhead pgbulkhead
