# pgbulkhead.yaml(5) from the table of `pgbulkhead check --keys`, so that it cannot differ from the program.
#
# usage: pgbulkhead check --keys | awk -f keys_page.awk

BEGIN {
    FS = " \\| "
    print ".Dd December 1, 2026"
    print ".Dt PGBULKHEAD.YAML 5\n.Os\n.Sh NAME\n.Nm pgbulkhead.yaml\n.Nd budgets of the admission proxy pgbulkhead"
    print ".Sh DESCRIPTION"
    print "The budgets file is YAML."
    print "The keys of"
    print ".Va listen ,\n.Va databases\nand\n.Va workloads"
    print "are those of each of their entries: the first and the last are lists, and"
    print ".Va databases\nmaps the name of a database, or \\(dq*\\(dq for every other, to its keys."
    print "Workloads are tried from the top, and the last is called"
    print ".Li default ."
    print ".Pp"
    print "Durations carry a unit: us, ms, s, m or h."
    print "Sizes carry B, KiB, MiB or GiB."
    print ".Li ${NAME}\nand\n.Li ${NAME:-default}\nin a value come from the environment."
    print ".Pp"
    print "A file that changes is loaded while the proxy runs, all or nothing."
    print "Keys that are live count from then on; the others wait for a restart."
}

# Text of a cell as a line of the page: no mark-up of the table's, nothing that the formatter would obey.
function plain(text) {
    gsub(/`/, "", text)
    gsub(/\\/, "\\e", text)
    gsub(/"/, "\\(dq", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}

# Each sentence begins a line of its own.
function prose(text) {
    text = plain(text)
    while (match(text, /[.] [A-Z]/)) {
        print substr(text, 1, RSTART)
        text = substr(text, RSTART + 2)
    }
    print text
}

NR > 2 {
    key = plain(substr($1, 3))
    sub(/ \|$/, "", $7)
    section = key
    sub(/[.].*/, "", section)
    if (section != before) {
        if (before != "") print ".El"
        print ".Sh KEYS OF " toupper(section) "\n.Bl -tag -width Ds"
        before = section
    }
    print ".It Va " key
    prose($7)
    print ".br"
    print plain($2) (($3 == "-") ? "" : ", " plain($3)) "; default: " plain($4) "; " \
        (($6 == "live") ? "live" : "needs a restart") (($5 == "yes") ? "" : "; not built yet: only its default is accepted")
}

END {
    print ".El"
    print ".Sh FILES\n.Bl -tag -width Ds"
    print ".It Pa /etc/pgbulkhead/budgets.yaml\nThe budgets that the systemd unit serves."
    print ".It Pa /usr/share/doc/pgbulkhead/examples/budgets.example.yaml\nEvery key once."
    print ".El\n.Sh SEE ALSO\n.Xr pgbulkhead 1"
}
