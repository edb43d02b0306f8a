const failure = (retryable: boolean) => (status: number, title: string, remedy: string) => ({
  status,
  retryable,
  title,
  remedy,
})
/** Sent again, the request fails again. */
const lasting = failure(false)
/** Sent again later, the request may succeed. */
const passing = failure(true)
const notFound = (what: string, remedy: string) => lasting(404, `${what} not found`, remedy)
const conflict = (title: string, remedy: string) => lasting(409, title, remedy)
const unfit = (title: string, remedy: string) => lasting(422, title, remedy)

/**
 * Every failure that a caller can meet, with its code, HTTP status, whether a retry can help, meaning and remedy.
 * `docs/errors.md` is generated from this table.
 */
export const ERRORS = {
  invalid_request: lasting(400, 'The request is invalid', 'Correct the fields in `errors` and send it again.'),
  unauthorized: lasting(
    401,
    'The API key is missing or invalid',
    'Send a key of the tenant, or an operator key, as `Authorization: Bearer …` or `X-API-Key`.',
  ),
  forbidden: lasting(
    403,
    'The API key lacks permission',
    'Use a key with the scope of the path. Most paths of the internal interface take operator keys only.',
  ),
  not_found: notFound('Path', 'Check the path against `/openapi.json`.'),
  tenant_not_found: notFound('Tenant', 'Check the id in `X-Tenant-Id` or in the path. The platform is `@platform`.'),
  sim_not_found: notFound('SIM', 'Check the id or ICCID. SIMs of other tenants are not visible.'),
  pool_not_found: notFound('Pool', 'Check the id. Pools of other tenants are not visible.'),
  tag_not_found: notFound(
    'Tag',
    'Check the id: `subject.id` of an alert about a tag. Those of other tenants are not visible.',
  ),
  tariff_not_found: notFound('Tariff', 'Check the id. `GET /api/tariffs` lists the tariffs.'),
  ticket_not_found: notFound('Ticket', 'Check the id. Tickets of other tenants are not visible.'),
  bulk_not_found: notFound('Bulk run', 'Check the id. Runs of other tenants are not visible.'),
  batch_not_found: notFound('Batch', 'Check the id. Batches of other tenants are not visible.'),
  event_not_found: notFound('Event', 'Check the id. Events of other tenants are not visible.'),
  order_not_found: notFound('Order', 'Check the id. Orders of other tenants are not visible.'),
  key_not_found: notFound('API key', 'Check the id. `GET /internal/keys` lists the keys.'),
  session_not_found: notFound('Session', 'Nothing, if it has ended. `GET /internal/sessions` lists those that go on.'),
  usage_delivery_not_found: notFound(
    'Usage delivery',
    'Check the id. `GET /internal/usage-deliveries` lists the deliveries.',
  ),
  workflow_not_found: notFound('Workflow', 'Check the id. Temporal deletes ended workflows after its retention.'),
  hold_not_found: notFound('Hold', 'Check the id. `GET /internal/enforcement/holds` lists the holds.'),
  cycle_not_found: notFound('Billing cycle', '`GET /internal/cycles` lists the cycles.'),
  rule_not_found: notFound('Rule', '`GET /internal/rules` lists the rules in force.'),
  rule_file_not_found: notFound('Rule file', '`GET /internal/rules` lists the files of the rules in force.'),
  rules_version_not_found: notFound('Rules version', '`GET /internal/rules/versions` lists the versions.'),
  backtest_not_found: notFound(
    'Backtest',
    'Check the id. `GET /internal/rules/backtests` lists the backtests of the last 30 days.',
  ),
  method_not_allowed: lasting(405, 'The path does not support this method', 'Use a method from the `Allow` header.'),
  sim_already_assigned: conflict('The SIM is already provisioned', 'Unassign the SIM first.'),
  sim_state_conflict: conflict(
    'The state of the SIM does not allow this',
    'Read the SIM: its status or an open ticket prevents it.',
  ),
  pool_in_use: conflict(
    'The pool has SIMs, or SIMs are queued into it',
    'Move its SIMs out at the end of the billing cycle, cancel changes queued into it, then delete it.',
  ),
  ticket_not_pending: conflict('The ticket is no longer pending', 'Nothing: only pending tickets can be cancelled.'),
  order_not_pending: conflict(
    'The order is no longer pending',
    'Read the order: its processing has begun, or it has ended.',
  ),
  order_state_conflict: conflict(
    'The status of the order does not allow this step',
    'Read the order and take the next step for its status.',
  ),
  sim_exists: conflict(
    'A SIM with this ICCID exists already',
    'Remove the ICCIDs in `errors`. An ICCID identifies one SIM worldwide, with or without its check digit. Nothing was changed.',
  ),
  bulk_ended: conflict('The bulk run has ended', 'Nothing: only pending tickets can be cancelled.'),
  bulk_grown: conflict(
    'More SIMs would get a ticket than expected',
    'Send the dry run again, decide again, and send its `touched.count` in `expect`.',
  ),
  cycle_open: conflict('The billing cycle has not ended yet', 'Wait for the end of the cycle.'),
  cycle_closed: conflict(
    'The billing cycle is closed',
    'Nothing: remaining changes are made at the end of the running cycle.',
  ),
  workflow_not_running: conflict('The workflow is no longer running', 'Start it again, if its id may run again.'),
  workflow_not_retryable: conflict(
    'The workflow is running, or has completed',
    'Cancel a running workflow first. Only failed, cancelled or terminated runs are started again.',
  ),
  mail_not_found: notFound('Mail', 'Check the Message-ID. `GET /internal/mails` lists the mails.'),
  mail_not_failed: conflict(
    'The mail was sent, or attempts continue',
    'Only failed mails are retried. `GET /internal/mails?status=failed` lists them.',
  ),
  log_entry_not_found: notFound(
    'Watchdog log entry',
    'Check the id. `GET /api/watchdog/logs` lists the entries of the tenant.',
  ),
  alert_not_found: notFound(
    'Alert',
    'Check the id, or the rule and the subject. `GET /internal/alerts` lists alerts, and with `phase=firing` the firing ones.',
  ),
  mail_pending: conflict(
    'The mail has not been sent yet',
    'Wait: attempts continue. A mail can be resent after it was sent or has failed.',
  ),
  mail_text_gone: conflict(
    'The content of the mail is no longer stored',
    'Read the watchdog log. Contents of mails are kept for 13 months.',
  ),
  silence_not_found: notFound('Silence', 'Check the id. `GET /internal/silences` lists the silences.'),
  silence_limit: conflict(
    'The tenant has reached its limit of silences',
    'End some: `GET /internal/silences?open=true` lists them. A silence can cover a pool, or many tags or rules.',
  ),
  address_not_found: notFound('Address', 'Check the id. `GET /internal/addresses` lists the addresses.'),
  address_exists: conflict(
    'An address of this kind exists already',
    'To change its level or rules, remove it and add it again.',
  ),
  address_limit: conflict(
    'The tenant has reached its limit of addresses',
    'Remove one: `GET /internal/addresses` lists them. For many recipients, use a mailing list of a mail server.',
  ),
  address_in_use: conflict(
    'The address is the tenant’s billing address',
    'Change the billing address: `PATCH /api/tenant/billing-email`. Confirming the new one removes the old one.',
  ),
  webhook_not_found: notFound('Webhook', 'Check the id. `GET /internal/webhooks` lists the webhooks.'),
  webhook_delivery_not_found: notFound(
    'Webhook delivery',
    'Check the id. `GET /internal/webhooks/{id}/deliveries` lists the recent deliveries.',
  ),
  webhook_limit: conflict(
    'The tenant has reached its limit of webhooks',
    'Remove one: `GET /internal/webhooks` lists them. A webhook can receive all types of events.',
  ),
  webhook_disabled: conflict(
    'The webhook is disabled',
    'Enable it first: `POST /internal/webhooks/{id}/enable`. `disabledWhy` has the reason.',
  ),
  hold_not_open: conflict(
    'The hold is already decided, or its cycle has ended',
    'Nothing. `GET /internal/enforcement/holds?state=held` lists the undecided holds.',
  ),
  hold_grown: conflict(
    'More wait in the hold than expected',
    'Read the hold, decide again, and send its `waiting` in `expect`.',
  ),
  update_refused: conflict(
    'The workflow cannot accept this in its present state',
    'Read `detail` for the reason, and the workflow for its `state`.',
  ),
  idempotency_in_progress: passing(
    409,
    'A request with this Idempotency-Key is in progress',
    'Send the same request again after `Retry-After`, to get the first answer.',
  ),
  key_not_active: conflict(
    'The API key has expired, was revoked, or was already rotated',
    'Rotate its successor, or create a new key.',
  ),
  secret_already_shown: conflict(
    'The first answer had a secret, shown only once',
    'Create a new key, and revoke the key with the lost secret.',
  ),
  rules_moved: conflict(
    'The rules in force are not the expected version',
    'Read the version in force, decide again, and send it in `expect`.',
  ),
  backtest_limit: conflict(
    'The limit of waiting backtests is reached',
    'Wait until one is done, or remove one: `DELETE /internal/rules/backtests/{id}`.',
  ),
  no_earlier_rules: conflict('No other version of the rules was in force before', 'Send the wanted version in `to`.'),
  precondition_failed: lasting(
    412,
    'The resource has changed since it was read',
    'Read it again, decide again, and send the new `ETag` in `If-Match`.',
  ),
  payload_too_large: lasting(413, 'The body is too large', 'Send it in parts.'),
  unsupported_media_type: lasting(
    415,
    'The path does not accept this content type, charset or coding',
    'Send it in UTF-8, in a type from the header `Accept`, or in a coding from `Accept-Encoding`.',
  ),
  bulk_too_large: unfit(
    'The filter matches more SIMs than a bulk run may have',
    'Narrow the filter, for example to one pool, and start several runs.',
  ),
  batch_refused: unfit(
    'Some rows cannot be provisioned, so none was started',
    'Correct or remove the rows in `errors`, or send the batch with `skipInvalid`.',
  ),
  sim_repeated: unfit('The bulk run lists the SIM twice', 'Nothing: the SIM gets one ticket, for its first row.'),
  tariff_inactive: unfit('The tariff is inactive', 'Choose an active tariff.'),
  tariff_has_no_effect: unfit(
    'The tariff has no effect in this pool, which has a tariff for all its SIMs',
    'Send the pool’s tariff, or none. A tariff queued earlier is dropped with its change.',
  ),
  tariff_needs_pool: unfit(
    'A SIM outside a pool needs a Standard tariff',
    'Choose a pool of the tariff’s type, or a Standard tariff.',
  ),
  tariff_pool_mismatch: unfit('The tariff does not fit the type of the pool', 'Choose a tariff of the pool’s type.'),
  tariff_units_disagree: unfit(
    'Bytes and GB of the tariff differ',
    'Send bytes or GB, or both with 1 GB = 10^9 bytes.',
  ),
  order_type_unavailable: unfit(
    'This type cannot be ordered at present',
    'Choose a type from `GET /api/orders/pricing`.',
  ),
  order_type_mismatch: unfit(
    'The step is for the other type of order',
    'Ship and deliver physical SIMs; complete eSIMs.',
  ),
  order_quantity_mismatch: unfit(
    'The number of SIMs differs from the order’s quantity',
    'Send as many ICCIDs as were ordered. Nothing was changed.',
  ),
  shipping_address_missing: unfit('The order has no shipping address', 'Send the address, at least `shippingLine1`.'),
  idempotency_key_reused: unfit(
    'The Idempotency-Key was used for another request',
    'Use a new key for each new request.',
  ),
  rules_rejected: unfit(
    'The rule set has faults and was not activated',
    'Correct the faults in `errors`. The previous set stays in force.',
  ),
  rate_limited: passing(
    429,
    'Too many requests with this key, or from this address without a valid key',
    'Wait for the time in `Retry-After`, then continue.',
  ),
  quota_exceeded: passing(
    429,
    'A limit is reached: open tickets of the SIM or tenant, or simultaneous requests of the tenant',
    'Wait for the time in `Retry-After`. Cancel pending tickets, or send fewer requests at once. `detail` has the limit.',
  ),
  internal_error: passing(
    500,
    'The service failed',
    'Try again. If the error persists, search the service’s log for `requestId`.',
  ),
  unavailable: passing(
    503,
    'The service is not ready, or a server it needs is unreachable',
    'Try again after `Retry-After`. `detail` has the reason; `/readyz` of the internal interface lists unreachable servers.',
  ),
}

export type ErrorCode = keyof typeof ERRORS

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code)
export const ERROR_CODES = Object.keys(ERRORS).filter(isErrorCode)

/** A wrong field: its place (a JSON pointer into the body, or a parameter's name) and its fault. */
export interface FieldError {
  readonly pointer?: string
  readonly parameter?: string
  /** For a row in a list: the code of the error that the row alone would cause. */
  readonly code?: ErrorCode
  readonly detail: string
}

/** A failure with a code from {@link ERRORS}. The message is sent to the caller; the cause goes only to the log. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly FieldError[]
  /** Seconds until the request may be sent again; undefined: the usual time of the code. */
  readonly retryAfter: number | undefined
  constructor(
    code: ErrorCode,
    message: string,
    options: { errors?: readonly FieldError[]; cause?: unknown; retryAfter?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.errors = options.errors ?? []
    this.retryAfter = options.retryAfter
  }
}
