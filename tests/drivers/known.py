"""Where a check may fail, and why. A check that is not here must pass on both sides; an entry whose
check passes is told, and goes."""

# (program, check): the reason. These hold for every server.
DIFFERENCES = {
    (
        "asyncpg",
        "refusal_pool",
    ): "the pool's reset query is refused as any statement is, so the pool"
    " throws the connection away and opens another; there is no lane for housekeeping yet",
}

# (program, check, version of the server): the reason.
BY_SERVER = {}
