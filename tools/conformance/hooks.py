"""Hooks and checks for Schemathesis (schemathesis.toml names this file)."""

import atexit
import collections
import json
import os
import re
import sys
import uuid

import schemathesis
from schemathesis.auths import AuthContext, set_on_case

sys.path.insert(0, os.path.dirname(__file__))
import ready  # noqa: E402

KEY = re.compile(r'^(?:"([ !#-~]{1,200})"|([!#-~][ !#-~]{0,200}))$')


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    """Sends NDJSON, which Schemathesis does not know, as the text that was drawn."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "ignore")


@schemathesis.hook
def before_add_examples(ctx, examples):
    """Adds an example that succeeds to those of the document."""
    make = ready.REQUESTS.get(ctx.operation.definition.raw["operationId"])
    if make is None:
        return
    request = make()
    body = {"body": request["body"], "media_type": "application/json"} if "body" in request else {}
    case = ctx.operation.Case(
        path_parameters=request.get("path", {}),
        query=request.get("query", {}),
        headers={"X-Tenant-Id": os.environ["SCHEMATHESIS_TENANT"]},
        **body,
    )
    own_key(case)
    examples.append(case)


def own_key(case):
    """Sets the key of schemathesis.toml in Schemathesis's own way, so that its checks recognise it."""
    set_on_case(case, AuthContext(operation=case.operation, app=None), None)


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Makes a drawn Idempotency-Key unique. A key stands for one request, but the same valid key is drawn for many."""
    key = (case.headers or {}).get("Idempotency-Key")
    fitting = KEY.match(key) if isinstance(key, str) else None
    if fitting:
        quoted, bare = fitting.groups()
        own = f"{quoted or bare}-{uuid.uuid4().hex}"
        case.headers["Idempotency-Key"] = f'"{own}"' if quoted else own
    as_an_operator(case)


def as_an_operator(case):
    """Makes a request that should succeed one of an operator: any header may be drawn, though the document does not list it."""
    meta = case.meta
    if meta is None or meta.generation.mode != schemathesis.GenerationMode.POSITIVE or not case.headers:
        return
    # Hypothesis draws texts of ready.py, too. The header is the workers' own, and names one of the tenant's workflows.
    for name in [name for name in case.headers if name.lower() == "simherd-workflow"]:
        del case.headers[name]
    drawn = [name for name in case.headers if name.lower() in ("authorization", "x-api-key")]
    for name in drawn:
        del case.headers[name]
    if drawn:
        own_key(case)


def operation_of(case):
    """The operation, as in the document."""
    return case.operation.definition.raw


@schemathesis.check
def declared_code(ctx, response, case):
    """Checks that a problem has one of the codes that its operation declares for the status."""
    # 405: no operation describes a method that the path does not take.
    if response.status_code < 400 or response.status_code == 405:
        return None
    operation = operation_of(case)
    answer = operation["responses"].get(str(response.status_code), {})
    if "$ref" in answer:
        answer = case.operation.schema.raw_schema["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    code = response.json().get("code")
    if code not in answer.get("x-codes", ()):
        raise AssertionError(f"{operation['operationId']} declares no code {code} with {response.status_code}")
    return None


ANSWERS = collections.defaultdict(collections.Counter)


@schemathesis.hook
def after_call(ctx, case, response):
    """Counts the statuses of each operation for conformance.ts: one that never succeeded was not really tested."""
    ANSWERS[operation_of(case)["operationId"]][str(response.status_code)] += 1


@atexit.register
def tell_answers():
    file = os.environ.get("SCHEMATHESIS_ANSWERS")
    if file:
        with open(file, "w", encoding="utf-8") as out:
            json.dump(ANSWERS, out)
