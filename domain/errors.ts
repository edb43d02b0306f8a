/**
 * Every failure that a caller can meet, with its code, HTTP status, whether a retry can help, meaning and remedy.
 * `docs/errors.md` is generated from this table.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    retryable: false,
    title: 'The request is invalid',
    remedy: 'Correct the fields in `errors` and send it again.',
  },
  unauthorized: {
    status: 401,
    retryable: false,
    title: 'The API key is missing or invalid',
    remedy: 'Send a key of the tenant, or an operator key, as `Authorization: Bearer …` or `X-API-Key`.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    title: 'The API key lacks permission',
    remedy: 'Use a key with the scope of the path. The internal interface takes operator keys only.',
  },
  not_found: {
    status: 404,
    retryable: false,
    title: 'Path not found',
    remedy: 'Check the path against `/openapi.json`.',
  },
  tenant_not_found: {
    status: 404,
    retryable: false,
    title: 'Tenant not found',
    remedy: 'Check the id in `X-Tenant-Id` or in the path. The platform is `@platform`.',
  },
  sim_not_found: {
    status: 404,
    retryable: false,
    title: 'SIM not found',
    remedy: 'Check the id or ICCID. SIMs of other tenants are not visible.',
  },
  pool_not_found: {
    status: 404,
    retryable: false,
    title: 'Pool not found',
    remedy: 'Check the id. Pools of other tenants are not visible.',
  },
  tariff_not_found: {
    status: 404,
    retryable: false,
    title: 'Tariff not found',
    remedy: 'Check the id. `GET /api/tariffs` lists the tariffs.',
  },
  ticket_not_found: {
    status: 404,
    retryable: false,
    title: 'Ticket not found',
    remedy: 'Check the id. Tickets of other tenants are not visible.',
  },
  bulk_not_found: {
    status: 404,
    retryable: false,
    title: 'Bulk run not found',
    remedy: 'Check the id. Runs of other tenants are not visible.',
  },
  batch_not_found: {
    status: 404,
    retryable: false,
    title: 'Batch not found',
    remedy: 'Check the id. Batches of other tenants are not visible.',
  },
  event_not_found: {
    status: 404,
    retryable: false,
    title: 'Event not found',
    remedy: 'Check the id. Events of other tenants are not visible.',
  },
  order_not_found: {
    status: 404,
    retryable: false,
    title: 'Order not found',
    remedy: 'Check the id. Orders of other tenants are not visible.',
  },
  key_not_found: {
    status: 404,
    retryable: false,
    title: 'API key not found',
    remedy: 'Check the id. `GET /internal/keys` lists the keys.',
  },
  usage_delivery_not_found: {
    status: 404,
    retryable: false,
    title: 'Usage delivery not found',
    remedy: 'Check the id. `GET /internal/usage-deliveries` lists the deliveries.',
  },
  workflow_not_found: {
    status: 404,
    retryable: false,
    title: 'Workflow not found',
    remedy: 'Check the id. Temporal deletes ended workflows after its retention.',
  },
  hold_not_found: {
    status: 404,
    retryable: false,
    title: 'Hold not found',
    remedy: 'Check the id. `GET /internal/enforcement/holds` lists the holds.',
  },
  cycle_not_found: {
    status: 404,
    retryable: false,
    title: 'Billing cycle not found',
    remedy: '`GET /internal/cycles` lists the cycles.',
  },
  rule_not_found: {
    status: 404,
    retryable: false,
    title: 'Rule not found',
    remedy: '`GET /internal/rules` lists the rules in force.',
  },
  rule_file_not_found: {
    status: 404,
    retryable: false,
    title: 'Rule file not found',
    remedy: '`GET /internal/rules` lists the files of the rules in force.',
  },
  rules_version_not_found: {
    status: 404,
    retryable: false,
    title: 'Rules version not found',
    remedy: '`GET /internal/rules/versions` lists the versions.',
  },
  backtest_not_found: {
    status: 404,
    retryable: false,
    title: 'Backtest not found',
    remedy: 'Check the id. `GET /internal/rules/backtests` lists the backtests of the last 30 days.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: 'The path does not support this method',
    remedy: 'Use a method from the `Allow` header.',
  },
  sim_already_assigned: {
    status: 409,
    retryable: false,
    title: 'The SIM is already provisioned',
    remedy: 'Unassign the SIM first.',
  },
  sim_state_conflict: {
    status: 409,
    retryable: false,
    title: 'The state of the SIM does not allow this',
    remedy: 'Read the SIM: its status or an open ticket prevents it.',
  },
  pool_in_use: {
    status: 409,
    retryable: false,
    title: 'The pool has SIMs, or SIMs are queued into it',
    remedy: 'Move its SIMs out at the end of the billing cycle, cancel changes queued into it, then delete it.',
  },
  ticket_not_pending: {
    status: 409,
    retryable: false,
    title: 'The ticket is no longer pending',
    remedy: 'Nothing: only pending tickets can be cancelled.',
  },
  order_not_pending: {
    status: 409,
    retryable: false,
    title: 'The order is no longer pending',
    remedy: 'Read the order: its processing has begun, or it has ended.',
  },
  order_state_conflict: {
    status: 409,
    retryable: false,
    title: 'The status of the order does not allow this step',
    remedy: 'Read the order and take the next step for its status.',
  },
  sim_exists: {
    status: 409,
    retryable: false,
    title: 'A SIM with this ICCID exists already',
    remedy:
      'Remove the ICCIDs in `errors`. An ICCID identifies one SIM worldwide, with or without its check digit. Nothing was changed.',
  },
  bulk_ended: {
    status: 409,
    retryable: false,
    title: 'The bulk run has ended',
    remedy: 'Nothing: only pending tickets can be cancelled.',
  },
  cycle_open: {
    status: 409,
    retryable: false,
    title: 'The billing cycle has not ended yet',
    remedy: 'Wait for the end of the cycle.',
  },
  cycle_closed: {
    status: 409,
    retryable: false,
    title: 'The billing cycle is closed',
    remedy: 'Nothing: remaining changes are made at the end of the running cycle.',
  },
  workflow_not_running: {
    status: 409,
    retryable: false,
    title: 'The workflow is no longer running',
    remedy: 'Start it again, if its id may run again.',
  },
  workflow_not_retryable: {
    status: 409,
    retryable: false,
    title: 'The workflow is running, or has completed',
    remedy: 'Cancel a running workflow first. Only failed, cancelled or terminated runs are started again.',
  },
  mail_not_found: {
    status: 404,
    retryable: false,
    title: 'Mail not found',
    remedy: 'Check the Message-ID. `GET /internal/mails` lists the mails.',
  },
  mail_not_failed: {
    status: 409,
    retryable: false,
    title: 'The mail was sent, or attempts continue',
    remedy: 'Only failed mails are retried. `GET /internal/mails?status=failed` lists them.',
  },
  log_entry_not_found: {
    status: 404,
    retryable: false,
    title: 'Watchdog log entry not found',
    remedy: 'Check the id. `GET /api/watchdog/logs` lists the entries of the tenant.',
  },
  alert_not_found: {
    status: 404,
    retryable: false,
    title: 'Firing alert not found',
    remedy: 'Check the rule and the subject. `GET /internal/alerts?phase=firing` lists the firing alerts.',
  },
  mail_pending: {
    status: 409,
    retryable: false,
    title: 'The mail has not been sent yet',
    remedy: 'Wait: attempts continue. A mail can be resent after it was sent or has failed.',
  },
  mail_text_gone: {
    status: 409,
    retryable: false,
    title: 'The content of the mail is no longer stored',
    remedy: 'Read the watchdog log. Contents of mails are kept for 13 months.',
  },
  silence_not_found: {
    status: 404,
    retryable: false,
    title: 'Silence not found',
    remedy: 'Check the id. `GET /internal/silences` lists the silences.',
  },
  silence_limit: {
    status: 409,
    retryable: false,
    title: 'The tenant has reached its limit of silences',
    remedy:
      'End some: `GET /internal/silences?open=true` lists them. A silence can cover a pool, or many tags or rules.',
  },
  address_not_found: {
    status: 404,
    retryable: false,
    title: 'Address not found',
    remedy: 'Check the id. `GET /internal/addresses` lists the addresses.',
  },
  address_exists: {
    status: 409,
    retryable: false,
    title: 'An address of this kind exists already',
    remedy: 'To change its level or rules, remove it and add it again.',
  },
  address_limit: {
    status: 409,
    retryable: false,
    title: 'The tenant has reached its limit of addresses',
    remedy:
      'Remove one: `GET /internal/addresses` lists them. For many recipients, use a mailing list of a mail server.',
  },
  address_in_use: {
    status: 409,
    retryable: false,
    title: 'The address is the tenant’s billing address',
    remedy:
      'Change the billing address: `PATCH /api/tenant/billing-email`. Confirming the new one removes the old one.',
  },
  webhook_not_found: {
    status: 404,
    retryable: false,
    title: 'Webhook not found',
    remedy: 'Check the id. `GET /internal/webhooks` lists the webhooks.',
  },
  webhook_delivery_not_found: {
    status: 404,
    retryable: false,
    title: 'Webhook delivery not found',
    remedy: 'Check the id. `GET /internal/webhooks/{id}/deliveries` lists the recent deliveries.',
  },
  webhook_limit: {
    status: 409,
    retryable: false,
    title: 'The tenant has reached its limit of webhooks',
    remedy: 'Remove one: `GET /internal/webhooks` lists them. A webhook can receive all types of events.',
  },
  webhook_disabled: {
    status: 409,
    retryable: false,
    title: 'The webhook is disabled',
    remedy: 'Enable it first: `POST /internal/webhooks/{id}/enable`. `disabledWhy` has the reason.',
  },
  hold_not_open: {
    status: 409,
    retryable: false,
    title: 'The hold is already decided, or its cycle has ended',
    remedy: 'Nothing. `GET /internal/enforcement/holds?state=held` lists the undecided holds.',
  },
  update_refused: {
    status: 409,
    retryable: false,
    title: 'The workflow cannot accept this in its present state',
    remedy: 'Read `detail` for the reason, and the workflow for its `state`.',
  },
  idempotency_in_progress: {
    status: 409,
    retryable: true,
    title: 'A request with this Idempotency-Key is in progress',
    remedy: 'Send the same request again after `Retry-After`, to get the first answer.',
  },
  key_not_active: {
    status: 409,
    retryable: false,
    title: 'The API key has expired, was revoked, or was already rotated',
    remedy: 'Rotate its successor, or create a new key.',
  },
  secret_already_shown: {
    status: 409,
    retryable: false,
    title: 'The first answer had a secret, shown only once',
    remedy: 'Create a new key, and revoke the key with the lost secret.',
  },
  rules_moved: {
    status: 409,
    retryable: false,
    title: 'The rules in force are not the expected version',
    remedy: 'Read the version in force, decide again, and send it in `expect`.',
  },
  backtest_limit: {
    status: 409,
    retryable: false,
    title: 'The limit of waiting backtests is reached',
    remedy: 'Wait until one is done, or remove one: `DELETE /internal/rules/backtests/{id}`.',
  },
  no_earlier_rules: {
    status: 409,
    retryable: false,
    title: 'No other version of the rules was in force before',
    remedy: 'Send the wanted version in `to`.',
  },
  precondition_failed: {
    status: 412,
    retryable: false,
    title: 'The resource has changed since it was read',
    remedy: 'Read it again, decide again, and send the new `ETag` in `If-Match`.',
  },
  payload_too_large: { status: 413, retryable: false, title: 'The body is too large', remedy: 'Send it in parts.' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: 'The path does not accept this content type, charset or coding',
    remedy: 'Send it in UTF-8, in a type from the header `Accept`, or in a coding from `Accept-Encoding`.',
  },
  bulk_too_large: {
    status: 422,
    retryable: false,
    title: 'The filter matches more SIMs than a bulk run may have',
    remedy: 'Narrow the filter, for example to one pool, and start several runs.',
  },
  batch_refused: {
    status: 422,
    retryable: false,
    title: 'Some rows cannot be provisioned, so none was started',
    remedy: 'Correct or remove the rows in `errors`, or send the batch with `skipInvalid`.',
  },
  sim_repeated: {
    status: 422,
    retryable: false,
    title: 'The bulk run lists the SIM twice',
    remedy: 'Nothing: the SIM gets one ticket, for its first row.',
  },
  tariff_inactive: {
    status: 422,
    retryable: false,
    title: 'The tariff is inactive',
    remedy: 'Choose an active tariff.',
  },
  tariff_has_no_effect: {
    status: 422,
    retryable: false,
    title: 'The tariff has no effect in this pool, which has a tariff for all its SIMs',
    remedy: 'Send the pool’s tariff, or none. A tariff queued earlier is dropped with its change.',
  },
  tariff_needs_pool: {
    status: 422,
    retryable: false,
    title: 'A SIM outside a pool needs a Standard tariff',
    remedy: 'Choose a pool of the tariff’s type, or a Standard tariff.',
  },
  tariff_pool_mismatch: {
    status: 422,
    retryable: false,
    title: 'The tariff does not fit the type of the pool',
    remedy: 'Choose a tariff of the pool’s type.',
  },
  tariff_units_disagree: {
    status: 422,
    retryable: false,
    title: 'Bytes and GB of the tariff differ',
    remedy: 'Send bytes or GB, or both with 1 GB = 10^9 bytes.',
  },
  order_type_unavailable: {
    status: 422,
    retryable: false,
    title: 'This type cannot be ordered at present',
    remedy: 'Choose a type from `GET /api/orders/pricing`.',
  },
  order_type_mismatch: {
    status: 422,
    retryable: false,
    title: 'The step is for the other type of order',
    remedy: 'Ship and deliver physical SIMs; complete eSIMs.',
  },
  order_quantity_mismatch: {
    status: 422,
    retryable: false,
    title: 'The number of SIMs differs from the order’s quantity',
    remedy: 'Send as many ICCIDs as were ordered. Nothing was changed.',
  },
  shipping_address_missing: {
    status: 422,
    retryable: false,
    title: 'The order has no shipping address',
    remedy: 'Send the address, at least `shippingLine1`.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    title: 'The Idempotency-Key was used for another request',
    remedy: 'Use a new key for each new request.',
  },
  rules_rejected: {
    status: 422,
    retryable: false,
    title: 'The rule set has faults and was not activated',
    remedy: 'Correct the faults in `errors`. The previous set stays in force.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    title: 'Too many requests with this key, or from this address without a valid key',
    remedy: 'Wait for the time in `Retry-After`, then continue.',
  },
  quota_exceeded: {
    status: 429,
    retryable: true,
    title: 'A limit is reached: open tickets of the SIM or tenant, or simultaneous requests of the tenant',
    remedy:
      'Wait for the time in `Retry-After`. Cancel pending tickets, or send fewer requests at once. `detail` has the limit.',
  },
  internal_error: {
    status: 500,
    retryable: true,
    title: 'The service failed',
    remedy: 'Try again. If the error persists, search the service’s log for `requestId`.',
  },
  unavailable: {
    status: 503,
    retryable: true,
    title: 'The service is not ready, or a server it needs is unreachable',
    remedy:
      'Try again after `Retry-After`. `detail` has the reason; `/readyz` of the internal interface lists unreachable servers.',
  },
} as const

export type ErrorCode = keyof typeof ERRORS

/** A wrong field: its place (a JSON pointer into the body, or a parameter's name) and its fault. */
export interface FieldError {
  readonly pointer?: string
  readonly parameter?: string
  /** For a row in a list: the code of the error that the row alone would cause. */
  readonly code?: ErrorCode
  readonly detail: string
}

/**
 * A failure with a code from {@link ERRORS}. The message is sent to the caller; the cause goes only to the log.
 */
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
