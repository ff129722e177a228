"""Where a check may fail, and why. A check that is not here must pass on both sides; an entry whose
check passes is told, and goes."""

# (program, check): the reason. These hold for every server.
DIFFERENCES = {}

# (program, check, version of the server): the reason.
BY_SERVER = {}
