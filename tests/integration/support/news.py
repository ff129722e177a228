"""What a server tells of settings that its client does not know yet."""

from . import server_version


def news(session, got):
    """`got` without the ParameterStatus that repeat what `session` knows. PostgreSQL before 14 tells
    settings again that did not change, which the proxy does not; other versions' messages stay."""
    kept = []
    for msg in got:
        if msg.kind == "S":
            name, value = msg.parameter()
            if server_version.TELLS_AGAIN and session.parameters.get(name) == value:
                continue
            session.parameters[name] = value
        kept.append(msg)
    return kept
