"""
Requests that succeed, for operations that drawn data does not bring to 2xx. What they need is made just before.

Each function of REQUESTS returns its operation's input: values for the path, the query and the body.
"""

import calendar
import os
import pathlib
import random
import time
import urllib.parse

import requests

API = os.environ.get("SCHEMATHESIS_API_URL", "")
INTERNAL = os.environ.get("SCHEMATHESIS_INTERNAL_URL", "")
# The operator's key, for requests that a tenant's key may not make.
OPERATOR = {
    "Authorization": f"Bearer {os.environ.get('SCHEMATHESIS_OPERATOR_KEY')}",
    "X-Tenant-Id": os.environ.get("SCHEMATHESIS_TENANT", ""),
}
PATIENCE_S = 60


def ask(method, url, body=None, **headers):
    answer = requests.request(method, url, json=body, headers={**OPERATOR, **headers}, timeout=30)
    if not answer.ok:
        raise RuntimeError(f"{method} {url}: {answer.status_code} {answer.text}")
    return answer.json()


def outside(method, path, body=None, **headers):
    return ask(method, f"{API}/api{path}", body, **headers)


def inside(method, path, body=None):
    return ask(method, f"{INTERNAL}/internal{path}", body)


def until(holds, what):
    """Waits until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.1)


def carried_out(ticket):
    path = f"/tickets/{ticket['id']}"
    until(lambda: outside("GET", path)["status"] > 1, f"ticket {ticket['id']} to end")
    if outside("GET", path)["status"] != 2:
        raise RuntimeError(f"ticket {ticket['id']} was not carried out: {inside('GET', path)}")


def iccid():
    return f"8999901{random.randrange(10**12):012}"


def fresh_sim():
    return inside("POST", "/sims", {"sims": [{"iccid": iccid()}]})["created"][0]["id"]


def active_sim():
    sim = fresh_sim()
    carried_out(outside("POST", "/tickets/provision", {"simId": sim}))
    carried_out(outside("POST", "/tickets/activate", {"simId": sim}))
    return sim


def pending_ticket():
    """A ticket that stays pending: the carrier takes a SIM's tickets one by one, some tenths of a second each."""
    sim = active_sim()
    for _ in range(40):
        ticket = outside("POST", "/tickets/send-sms", {"simId": sim, "message": "one of forty"})
    return {"path": {"id": ticket["id"]}}


def bulk_run():
    body = {"type": "refresh", "sims": {"ids": [active_sim()]}}
    return {"path": {"id": inside("POST", "/bulk-tickets", body)["id"]}}


PHYSICAL, ESIM = 1, 2
SHIPMENT = {"shippingCarrier": "Royal Mail", "trackingNumber": "RM 17"}


def order(kind, *steps):
    made = outside("POST", "/orders", {"type": kind, "quantity": 1, "shippingLine1": "17 Mill Lane"})
    path = f"/orders/{made['id']}"
    for step in steps:
        inside("POST", f"{path}/{step}", {**SHIPMENT, "iccids": [iccid()]} if step == "ship" else None)
    return {"path": {"orderId": made["id"]}}


def suspended_sim():
    sim = active_sim()
    carried_out(outside("POST", "/tickets/suspend", {"simId": sim}))
    return sim


def running_suspension(sim=None):
    """
    A run in its grace period, of a day at most: it takes signals and updates. On the last days of a cycle the grace is
    shorter, because none outlasts the cycle, also when it is extended.
    """
    body = {"simId": sim or active_sim(), "grace": f"PT{min(24 * 3600, seconds_left() // 3)}S"}
    return inside("POST", "/workflows/suspend-on-overage", body)["workflowId"]


def suspended_by_a_workflow():
    sim = active_sim()
    workflow = running_suspension(sim)
    carried_out(outside("POST", "/tickets/suspend", {"simId": sim}, **{"Simherd-Workflow": workflow}))
    return {"path": {"id": sim}, "body": {"until": "manual", "workflowId": workflow}}


def hold():
    """A hold of a rule of its own. The tenant's guard allows no suspensions."""
    inside("PATCH", "/tenant/enforcement", {"guardLeast": 0, "guardPct": 0})
    body = {"rule": f"rule-{iccid()}", "cycle": running_cycle(), "simIds": [active_sim()], "workflowId": "one that asks"}
    return {"path": {"id": inside("POST", "/enforcement/permits", body)["holdId"]}}


def ended_activity():
    """One that no list has: removing it is no error."""
    return {"body": {"failing": [], "ended": [{"workflowId": running_suspension(), "activityId": "7"}]}}


def batch():
    body = {"sims": [{"simId": fresh_sim()}]}
    return {"path": {"id": inside("POST", "/workflows/provision-in-bulk", body)["id"]}}


def ended_run():
    """A run that a person has cancelled, so that it may be started again."""
    workflow = running_suspension()
    inside("POST", f"/workflows/{workflow}/cancel")
    until(lambda: inside("GET", f"/workflows/{workflow}")["status"] != "running", f"{workflow} to end")
    return {"path": {"workflowId": workflow}}


def queued_change():
    sim = active_sim()
    outside("POST", f"/sims/{sim}/queue-unprovision")
    return {"path": {"id": sim}}


def a_key():
    key = inside("POST", "/keys", {"name": "one to rotate", "scopes": ["read"]})
    return {"path": {"id": key["id"]}}


def running_cycle():
    return time.strftime("%Y-%m", time.gmtime())


def seconds_left():
    """Until the end of the running cycle, a month."""
    now = time.gmtime()
    _, days = calendar.monthrange(now.tm_year, now.tm_mon)
    return int(calendar.timegm((now.tm_year, now.tm_mon, days, 24, 0, 0)) - time.time())


def action():
    workflow = running_suspension()
    body = {"simId": active_sim(), "cycle": running_cycle(), "rule": "sim-overage", "action": "suspended"}
    return {"body": {**body, "counter": 0, "detail": "Over its limit.", "workflowId": workflow}}


def old_cycle():
    """A cycle long ago, without any usage."""
    return {"path": {"key": f"{random.randrange(1980, 2010)}-{random.randrange(1, 13):02}"}}


def firing_alert():
    """An alert of the estate: some of its SIMs have used more than their tariff includes."""
    path = "/alerts?phase=firing"
    until(lambda: inside("GET", path)["data"], "an alert to fire")
    alert = inside("GET", path)["data"][0]
    named = {"sim": "simId", "pool": "poolId"}.get(alert["subject"]["kind"])
    return {"body": {"rule": alert["rule"], **({named: alert["subject"]["id"]} if named else {})}}


def new_silence():
    return {"simId": fresh_sim(), "lasts": "PT1H", "reason": "The meter is replaced"}


def silence():
    return {"path": {"id": inside("POST", "/silences", new_silence())["id"]}}


def webhook():
    """A webhook of its own. A tenant may have ten, so those before go."""
    for before in inside("GET", "/webhooks")["data"][5:]:
        ask("DELETE", f"{INTERNAL}/internal/webhooks/{before['id']}")
    body = {"url": "https://ops.meadow.example/simherd", "events": ["cycle.closed"]}
    return {"path": {"id": inside("POST", "/webhooks", body)["id"]}}


def disabled_webhook():
    made = webhook()
    inside("POST", f"/webhooks/{made['path']['id']}/disable")
    return made


def webhook_delivery():
    made = webhook()
    delivery = inside("POST", f"/webhooks/{made['path']['id']}/test")
    return {"path": {**made["path"], "deliveryId": delivery["id"]}}


def address():
    """An address of its own. A tenant may have twenty, so copies from before go."""
    copies = [each for each in inside("GET", "/addresses") if each["kind"] == "copy"]
    for before in copies[:-5]:
        ask("DELETE", f"{INTERNAL}/internal/addresses/{before['id']}")
    body = {"kind": "copy", "email": f"copy-{iccid()}@meadow.example"}
    return {"path": {"id": inside("POST", "/addresses", body)["id"]}}


def sent_mail():
    """A mail of the estate: its alerts are mailed."""
    path = "/mails?status=sent"
    until(lambda: inside("GET", path)["data"], "a mail to be sent")
    return {"path": {"id": inside("GET", path)["data"][0]["id"]}}


RULES = pathlib.Path(__file__).parents[2] / "rules"


def own_rules():
    """The rule set that is in force."""
    paths = sorted(path for path in RULES.glob("*/*.json") if not path.name.endswith(".test.json"))
    files = [{"file": str(path.relative_to(RULES)), "text": path.read_text("utf-8")} for path in paths]
    return {"body": {"files": files, "author": "conformance"}}


def rule_version():
    """The version of the rule set that is in force."""
    return {"path": {"version": inside("POST", "/rules/versions", own_rules()["body"])["version"]}}


def loaded_file():
    """A file of a set that was just put in force. A path of its own needs its slash written as %2F."""
    inside("POST", "/rules", own_rules()["body"])
    [file, *_] = own_rules()["body"]["files"]
    return {"path": {"file": urllib.parse.quote(file["file"], safe="")}, "text": file["text"]}


def question():
    return {"tenantId": OPERATOR["X-Tenant-Id"], "cycles": 1}


def backtest():
    """A backtest, with room for it: so many may wait."""
    for old in inside("GET", "/rules/backtests")["data"][5:]:
        requests.delete(f"{INTERNAL}/internal/rules/backtests/{old['id']}", headers=OPERATOR, timeout=30)
    return {"path": {"id": inside("POST", "/rules/backtests", question())["id"]}}


def file_to_put():
    file = loaded_file()
    return {"path": file["path"], "body": {"text": file["text"], "author": "conformance"}}


def file_to_remove():
    return {"path": loaded_file()["path"], "query": {"author": "conformance"}}


REQUESTS = {
    "explainRules": lambda: {"query": {"simId": fresh_sim()}},
    "acknowledgeAlert": firing_alert,
    "addSilence": lambda: {"body": new_silence()},
    "endSilence": silence,
    "confirmAddress": address,
    "clearAddress": address,
    "removeAddress": address,
    "rotateWebhook": webhook,
    "testWebhook": webhook,
    "disableWebhook": webhook,
    "enableWebhook": disabled_webhook,
    "removeWebhook": webhook,
    "listWebhookDeliveries": webhook,
    "replayWebhookDelivery": webhook_delivery,
    "getMail": sent_mail,
    "resendMail": sent_mail,
    "cancelTicket": pending_ticket,
    "cancelOrder": lambda: order(PHYSICAL),
    "cancelTicketInternally": pending_ticket,
    "cancelBulkTickets": bulk_run,
    "getBulkTickets": bulk_run,
    "listBulkTicketItems": bulk_run,
    "startBulkTickets": lambda: {"body": {"type": "refresh", "sims": {"ids": [active_sim()]}}},
    "getOrderDetail": lambda: order(PHYSICAL),
    "setOrderPayment": lambda: {**order(PHYSICAL), "body": {"paymentInvoiceId": "INV-17"}},
    "processOrder": lambda: order(PHYSICAL),
    "failOrder": lambda: {**order(PHYSICAL), "body": {"reason": "None are left."}},
    "shipOrder": lambda: {**order(PHYSICAL, "process"), "body": {**SHIPMENT, "iccids": [iccid()]}},
    "deliverOrder": lambda: order(PHYSICAL, "process", "ship"),
    "completeOrder": lambda: order(ESIM, "process"),
    "setSuspensionUntil": suspended_by_a_workflow,
    "signalWorkflow": lambda: {"path": {"workflowId": running_suspension(), "name": "standDown"}},
    "updateWorkflow": lambda: {
        "path": {"workflowId": running_suspension(), "name": "extendGrace"},
        "body": {"by": "PT1S"},
    },
    "readWorkflow": lambda: {"path": {"workflowId": running_suspension()}},
    "cancelWorkflow": lambda: {"path": {"workflowId": running_suspension()}},
    "retryWorkflow": ended_run,
    "noteTroubles": ended_activity,
    "openProvisionTicket": lambda: {"body": {"simId": fresh_sim()}},
    "openUnassignTicket": lambda: {"body": {"simId": active_sim()}},
    "openSuspendTicket": lambda: {"body": {"simId": active_sim()}},
    "openActivateTicket": lambda: {"body": {"simId": suspended_sim()}},
    "getTicketDetail": lambda: {
        "path": {"id": outside("POST", "/tickets/refresh", {"simId": active_sim()})["id"]}
    },
    "startMonthEnd": lambda: {"body": {"cycle": old_cycle()["path"]["key"]}},
    "readPoolEnforcement": lambda: {
        "path": {"id": outside("GET", "/pools")["data"][0]["id"]},
        "query": {"cycle": running_cycle(), "rule": "pool-overage"},
    },
    "takeBackQueuedChange": queued_change,
    "changeNotices": lambda: {
        "body": {"timeZone": "Europe/Berlin", "feedEvery": "PT1H", "escalateAfter": "PT30M", "mailsFrom": 1}
    },
    "rotateKey": a_key,
    "endSessionsOfKey": a_key,
    "logAction": action,
    "readUsageSeries": lambda: {
        "query": {"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z", "step": "PT1H"}
    },
    "armSuspensions": lambda: {
        "body": {
            "simIds": [active_sim()],
            "cycle": running_cycle(),
            "rule": "pool-overage",
            "ruleFile": "",
            "grace": "P1D",
            "until": "renewal",
            "signal": "overLimit",
        }
    },
    "askPermits": lambda: {
        "body": {"rule": "sim-overage", "cycle": running_cycle(), "simIds": [active_sim()], "workflowId": "one that asks"}
    },
    "getUsageDelivery": lambda: {"path": {"id": inside("POST", "/usage", {"records": []})["deliveryId"]}},
    "releaseHold": hold,
    "discardHold": hold,
    "startProvisionAndActivate": lambda: {"body": {"simId": fresh_sim()}},
    "startProvisionInBulk": lambda: {"body": {"sims": [{"simId": fresh_sim()}]}},
    "getProvisionBatch": batch,
    "listProvisionBatchSims": batch,
    "noteProvisionBatch": lambda: {**batch(), "body": {"started": [0], "ended": []}},
    "endProvisionBatch": batch,
    "listMonthEndBatches": lambda: {**old_cycle(), "query": {"kind": "renew"}},
    "applyQueuedChanges": lambda: {
        **old_cycle(),
        "body": {"kind": "move", "afterSimId": 0, "throughSimId": active_sim()},
    },
    "retryFailedChanges": lambda: {**old_cycle(), "body": {"kind": "move", "afterSimId": 0}},
    "returnSuspendedSims": lambda: {**old_cycle(), "body": {"simIds": [active_sim()]}},
    "renewCycle": old_cycle,
    "closeCycle": old_cycle,
    "loadRules": own_rules,
    "pushRules": own_rules,
    "getRuleVersion": rule_version,
    "compareRuleVersions": rule_version,
    "askBacktest": lambda: {"body": question()},
    "getBacktest": backtest,
    "removeBacktest": backtest,
    "putRuleFile": file_to_put,
    "removeRuleFile": file_to_remove,
    "activateRuleVersion": lambda: {**rule_version(), "body": {"author": "conformance"}},
    "rollBackRules": lambda: {"body": {"author": "conformance", "to": rule_version()["path"]["version"]}},
}
