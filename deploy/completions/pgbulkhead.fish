# fish completion for pgbulkhead. Subcommands and options come from its own `--help`, so they cannot differ from it.

# word<TAB>what it is, for each word of one section of a help text on standard input: Subcommands or Options.
function __pgbulkhead_words
    awk -v section="$argv[1]:" '
        function say() { for (n in names) print names[n] "\t" text; text = ""; delete names }
        /^[A-Z].*:$/ { if (here) say(); here = ($0 == section); next }
        !here { next }
        /^  [^ ]/ { say(); split($1, names, ","); text = (match($0, /   +/) ? substr($0, RSTART + RLENGTH) : "") }
        /^   +[^ ]/ { sub(/^ +/, ""); text = text $0 }
        /^$/ { say(); here = 0 }'
end

function __pgbulkhead_offer
    set -l before (commandline -opc)
    set -l program $before[1]
    set -l subcommand
    for word in $before[2..-1]
        if not string match -q -- '-*' $word
            set subcommand $word
            break
        end
    end
    set -l section Options
    if test -z "$subcommand"; and not string match -q -- '-*' (commandline -ct)
        set section Subcommands
    end
    $program $subcommand --help 2>/dev/null | __pgbulkhead_words $section
end

# After these comes the name of a file.
function __pgbulkhead_wants_file
    set -l before (commandline -opc)
    contains -- $before[-1] -c --config --ca
end

complete -c pgbulkhead -f -n 'not __pgbulkhead_wants_file' -a '(__pgbulkhead_offer)'
complete -c pgbulkhead -F -n __pgbulkhead_wants_file
