"""Where a check may fail, and why. A check that is not here must pass on both sides."""

# (program, check): the reason. These hold for every server.
DIFFERENCES = {
    ("postgres", "refusal"): "in the failed block of a refused transaction a batch that describes its"
    " ROLLBACK gets 25P02, so that sql.begin() tells that in the place of 40001",
    ("asyncpg", "refusal_pool"): "the pool's reset query on giving back is refused as any statement"
    " is, so the pool throws the connection away and opens another; no lane for housekeeping yet",
}

# (program, check, version of the server): the reason.
BY_SERVER = {}
