#compdef pgbulkhead
# zsh completion for pgbulkhead. Subcommands and options come from its own `--help`, so they cannot differ from it.

# name:what it is, for each word of one section of a help text on standard input: Subcommands or Options.
_pgbulkhead_words() {
    awk -v section="$1:" '
        function say() { for (n in names) print names[n] ":" text; text = ""; delete names }
        /^[A-Z].*:$/ { if (here) say(); here = ($0 == section); next }
        !here { next }
        /^  [^ ]/ { say(); split($1, names, ","); text = (match($0, /   +/) ? substr($0, RSTART + RLENGTH) : "") }
        /^   +[^ ]/ { sub(/^ +/, ""); text = text $0 }
        /^$/ { say(); here = 0 }'
}

_pgbulkhead() {
    local subcommand section=Options word
    for word in ${words[2,CURRENT-1]}; do
        if [[ $word != -* ]]; then subcommand=$word; break; fi
    done
    case ${words[CURRENT-1]} in
        -c|--config|--ca) _files; return ;;
    esac
    if [[ -z $subcommand && ${words[CURRENT]} != -* ]]; then section=Subcommands; fi
    local -a found
    found=("${(@f)$(${words[1]} $subcommand --help 2>/dev/null | _pgbulkhead_words $section)}")
    _describe ${(L)section} found
}

_pgbulkhead "$@"
