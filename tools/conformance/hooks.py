"""What Schemathesis has to be told in code (schemathesis.toml names this file)."""

import re
import uuid

import schemathesis

KEY = re.compile(r'^("?)([!#-~][ !#-~]{0,200})\1$')


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    """NDJSON, which it does not know: a body that is drawn as text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "ignore")


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """A key stands for one request: a fitting one is drawn for many, and made one of its own."""
    key = (case.headers or {}).get("Idempotency-Key")
    fitting = KEY.match(key) if isinstance(key, str) else None
    if fitting:
        quote, text = fitting.groups()
        case.headers["Idempotency-Key"] = f"{quote}{text}-{uuid.uuid4().hex}{quote}"
