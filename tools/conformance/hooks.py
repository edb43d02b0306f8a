"""What Schemathesis lacks for our interfaces: NDJSON bodies, which are drawn as text."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "ignore")
