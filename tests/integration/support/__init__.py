"""The kit of the integration tests: PostgreSQL, the proxy, the wire, and the oracle."""
