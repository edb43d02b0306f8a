/**
 * Every failure that a caller can meet, with its code, HTTP status, whether a retry can help, meaning and remedy.
 * `docs/errors.md` is generated from this table.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    retryable: false,
    title: 'The request breaks a constraint of the interface',
    remedy: 'Mend the fields that `errors` names, and send it again.',
  },
  unauthorized: {
    status: 401,
    retryable: false,
    title: 'No valid API key was given',
    remedy: 'Send a key of the tenant, or an operator key, as `Authorization: Bearer …` or `X-API-Key`.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    title: 'The API key may not do this',
    remedy: 'Use a key with the scope the path asks for; the internal interface takes operator keys only.',
  },
  not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such path',
    remedy: 'Compare the path with `/openapi.json`.',
  },
  tenant_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such tenant',
    remedy: 'Look at the id in `X-Tenant-Id` or in the path; the platform is `@platform` there.',
  },
  sim_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such SIM',
    remedy: 'Look at the id or ICCID; another tenant’s SIM does not exist for you.',
  },
  pool_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such pool',
    remedy: 'Look at the id; another tenant’s pool does not exist for you.',
  },
  tariff_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such tariff',
    remedy: 'Look at the id; `GET /api/tariffs` lists what there is.',
  },
  ticket_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such ticket',
    remedy: 'Look at the id; another tenant’s ticket does not exist for you.',
  },
  bulk_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such bulk run',
    remedy: 'Look at the id; another tenant’s run does not exist for you.',
  },
  batch_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such batch',
    remedy: 'Look at the id; another tenant’s batch does not exist for you.',
  },
  event_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such event',
    remedy: 'Look at the id; another tenant’s event does not exist for you.',
  },
  order_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such order',
    remedy: 'Look at the id; another tenant’s order does not exist for you.',
  },
  key_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such API key',
    remedy: 'Look at the id; `GET /internal/keys` lists the keys there are.',
  },
  usage_delivery_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such delivery of usage',
    remedy: 'Look at the id; `GET /internal/usage-deliveries` lists the deliveries there are.',
  },
  workflow_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such workflow',
    remedy: 'Look at the id; a Temporal server forgets ended workflows after its retention.',
  },
  hold_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such hold',
    remedy: 'Look at the id; `GET /internal/enforcement/holds` lists what the guard holds.',
  },
  cycle_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such billing cycle',
    remedy: '`GET /internal/cycles` lists the cycles there are.',
  },
  rule_not_found: {
    status: 404,
    retryable: false,
    title: 'No rule of that name is in force',
    remedy: '`GET /internal/rules` lists the rules that are.',
  },
  rule_file_not_found: {
    status: 404,
    retryable: false,
    title: 'The rule set in force has no such file',
    remedy: '`GET /internal/rules` names the files of the rules in force.',
  },
  rules_version_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such version of the rules',
    remedy: '`GET /internal/rules/versions` lists the versions there are.',
  },
  backtest_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such backtest',
    remedy: 'Look at the id; `GET /internal/rules/backtests` lists those that are kept: for 30 days.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: 'The path does not take this method',
    remedy: 'Use a method of the `Allow` header.',
  },
  sim_already_assigned: {
    status: 409,
    retryable: false,
    title: 'The SIM is provisioned already',
    remedy: 'Unassign the SIM first, or leave it as it is.',
  },
  sim_state_conflict: {
    status: 409,
    retryable: false,
    title: 'The state of the SIM does not allow this',
    remedy: 'Read the SIM: its status, or an open ticket, stands in the way.',
  },
  pool_in_use: {
    status: 409,
    retryable: false,
    title: 'The pool has SIMs, or SIMs that are about to come',
    remedy: 'Move its SIMs out at the end of the billing cycle, undo what is queued into it, then delete it.',
  },
  ticket_not_pending: {
    status: 409,
    retryable: false,
    title: 'The ticket is not pending any more',
    remedy: 'Nothing: what is Processing or final cannot be cancelled.',
  },
  order_not_pending: {
    status: 409,
    retryable: false,
    title: 'The order is not pending any more',
    remedy: 'Read the order: what is being processed, has ended or was cancelled stays so.',
  },
  order_state_conflict: {
    status: 409,
    retryable: false,
    title: 'The status of the order does not allow this step',
    remedy: 'Read the order, and take the step that its status asks for.',
  },
  sim_exists: {
    status: 409,
    retryable: false,
    title: 'There is a SIM with this ICCID already',
    remedy:
      'Look at the ICCIDs that `errors` names: an ICCID is one line in the world, with its check digit and without. Nothing was done.',
  },
  bulk_ended: {
    status: 409,
    retryable: false,
    title: 'Nothing of the bulk run waits any more',
    remedy: 'Nothing: what is Processing or final cannot be cancelled.',
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
    remedy: 'Nothing: what is still queued is carried out at the end of the running cycle.',
  },
  workflow_not_running: {
    status: 409,
    retryable: false,
    title: 'The workflow does not run any more',
    remedy: 'Nothing, or start it again where its id may run again.',
  },
  workflow_not_retryable: {
    status: 409,
    retryable: false,
    title: 'The workflow runs, or has ended well',
    remedy:
      'Nothing: only a run that failed, was cancelled or was stopped is started again. Cancel one that runs first.',
  },
  mail_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such mail',
    remedy: 'Look at the Message-ID; `GET /internal/mails` lists what there is.',
  },
  mail_not_failed: {
    status: 409,
    retryable: false,
    title: 'The mail was sent, or still is tried',
    remedy: 'Nothing: only a mail that was given up is tried again. `GET /internal/mails?status=failed` lists those.',
  },
  log_entry_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such entry in the watchdog log',
    remedy: 'Look at the id; `GET /api/watchdog/logs` lists the entries of the tenant.',
  },
  alert_not_found: {
    status: 404,
    retryable: false,
    title: 'No such alert fires',
    remedy: 'Look at the rule and the subject; `GET /internal/alerts?phase=firing` lists what fires.',
  },
  mail_pending: {
    status: 409,
    retryable: false,
    title: 'The mail has not been sent yet',
    remedy: 'Nothing: it is still tried. A mail is sent again once it was sent or given up.',
  },
  mail_text_gone: {
    status: 409,
    retryable: false,
    title: 'What the mail said is not stored',
    remedy: 'Nothing: what a mail said is kept for 13 months. The watchdog log has it.',
  },
  silence_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such silence',
    remedy: 'Look at the id; `GET /internal/silences` lists what there is.',
  },
  silence_limit: {
    status: 409,
    retryable: false,
    title: 'The tenant has as many silences as it may have',
    remedy:
      'End some; `GET /internal/silences?open=true` lists them. One silence can be for a pool, or for many tags or rules.',
  },
  address_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such address',
    remedy: 'Look at the id; `GET /internal/addresses` lists what there is.',
  },
  address_exists: {
    status: 409,
    retryable: false,
    title: 'There is an address of this kind already',
    remedy: 'Nothing, or remove the address and add it again with another level or other rules.',
  },
  address_limit: {
    status: 409,
    retryable: false,
    title: 'The tenant has as many addresses as it may have',
    remedy: 'Remove one; `GET /internal/addresses` lists them. A list of recipients is better kept by a mail server.',
  },
  address_in_use: {
    status: 409,
    retryable: false,
    title: 'It is the tenant’s billing address',
    remedy:
      'Change the billing address: `PATCH /api/tenant/billing-email`. The one before is then removed by confirming the new one.',
  },
  webhook_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such webhook',
    remedy: 'Look at the id; `GET /internal/webhooks` lists what there is.',
  },
  webhook_delivery_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such delivery to the webhook',
    remedy: 'Look at the id; `GET /internal/webhooks/{id}/deliveries` lists those that are kept.',
  },
  webhook_limit: {
    status: 409,
    retryable: false,
    title: 'The tenant has as many webhooks as it may have',
    remedy: 'Remove one; `GET /internal/webhooks` lists them. One webhook can get all types of events.',
  },
  webhook_disabled: {
    status: 409,
    retryable: false,
    title: 'The webhook is disabled',
    remedy: 'Enable it first: `POST /internal/webhooks/{id}/enable`. `disabledWhy` says what it was disabled for.',
  },
  hold_not_open: {
    status: 409,
    retryable: false,
    title: 'The hold was decided otherwise, or its cycle has ended',
    remedy: 'Nothing: what was held is decided. `GET /internal/enforcement/holds?state=held` lists what still waits.',
  },
  update_refused: {
    status: 409,
    retryable: false,
    title: 'The workflow does not take this as it stands now',
    remedy: 'Read the workflow: `detail` says what stands in the way, its `state` where it is.',
  },
  idempotency_in_progress: {
    status: 409,
    retryable: true,
    title: 'A request with this Idempotency-Key is being worked on',
    remedy: 'Send the same request again after `Retry-After`: its answer will be the first one’s.',
  },
  key_not_active: {
    status: 409,
    retryable: false,
    title: 'The API key does not work any more, or was rotated already',
    remedy: 'Rotate the key that took its place, or make a new one.',
  },
  secret_already_shown: {
    status: 409,
    retryable: false,
    title: 'The answer held a secret that is shown only once',
    remedy: 'Make a new key, and revoke the one whose secret was lost.',
  },
  rules_moved: {
    status: 409,
    retryable: false,
    title: 'Another version of the rules is in force than was expected',
    remedy: 'Look at what is in force now, decide anew, and name its version in `expect`.',
  },
  backtest_limit: {
    status: 409,
    retryable: false,
    title: 'As many backtests wait as may wait',
    remedy: 'Wait until one is done, or remove one: `DELETE /internal/rules/backtests/{id}`.',
  },
  no_earlier_rules: {
    status: 409,
    retryable: false,
    title: 'No other version of the rules was in force before',
    remedy: 'Name the version that is to be in force in `to`.',
  },
  precondition_failed: {
    status: 412,
    retryable: false,
    title: 'The resource has changed since the caller read it',
    remedy: 'Read it again, decide anew, and send the new `ETag` in `If-Match`.',
  },
  payload_too_large: { status: 413, retryable: false, title: 'The body is too large', remedy: 'Send it in parts.' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: 'The body has a content type, charset or coding this path does not take',
    remedy:
      'Send it in UTF-8, in a type that the header `Accept` names, or in the coding that `Accept-Encoding` names.',
  },
  bulk_too_large: {
    status: 422,
    retryable: false,
    title: 'The filter of the bulk run finds more SIMs than a run may have',
    remedy: 'Narrow the filter, to one pool for instance, and start several runs.',
  },
  batch_refused: {
    status: 422,
    retryable: false,
    title: 'Rows of the batch cannot be provisioned, so none was started',
    remedy: 'Mend or leave out the rows that `errors` names, or send the batch with `skipInvalid`.',
  },
  sim_repeated: {
    status: 422,
    retryable: false,
    title: 'The bulk run names the SIM a second time',
    remedy: 'Nothing: the SIM gets one ticket, for where it is named first.',
  },
  tariff_inactive: {
    status: 422,
    retryable: false,
    title: 'The tariff takes no new assignments',
    remedy: 'Choose a tariff that is active.',
  },
  tariff_has_no_effect: {
    status: 422,
    retryable: false,
    title: 'The tariff has no effect in this pool: the pool’s own governs',
    remedy: 'Name the pool’s tariff or none. One that was queued before goes with the queued change.',
  },
  tariff_needs_pool: {
    status: 422,
    retryable: false,
    title: 'A SIM outside a pool needs a Standard tariff',
    remedy: 'Name a pool of the tariff’s type, or choose a Standard tariff.',
  },
  tariff_pool_mismatch: {
    status: 422,
    retryable: false,
    title: 'The tariff does not fit the type of the pool',
    remedy: 'Choose a tariff whose type is the pool’s.',
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
    title: 'This type cannot be ordered just now',
    remedy: 'Choose a type that `GET /api/orders/pricing` lists.',
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
    title: 'The number of SIMs is not the order’s quantity',
    remedy: 'Name as many ICCIDs as were ordered. Nothing was done.',
  },
  shipping_address_missing: {
    status: 422,
    retryable: false,
    title: 'The order has no shipping address',
    remedy: 'Give the address with the call: `shippingLine1` at least.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    title: 'The Idempotency-Key stood for another request',
    remedy: 'Use a new key for each new request.',
  },
  rules_rejected: {
    status: 422,
    retryable: false,
    title: 'The rule set has faults and was not activated',
    remedy: 'Mend the faults that `errors` names; the set before stays in force.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    title: 'Too many requests with the key, or from the address without a key that works',
    remedy: 'Wait as long as `Retry-After` says, and go on.',
  },
  quota_exceeded: {
    status: 429,
    retryable: true,
    title: 'The SIM or the tenant has as many open tickets, or the tenant as many requests under way, as it may have',
    remedy:
      'Wait as long as `Retry-After` says; `detail` names the quota. Cancel pending tickets, or send fewer requests at once.',
  },
  internal_error: {
    status: 500,
    retryable: true,
    title: 'The service failed',
    remedy: 'Try again; where it stays, look for `requestId` in the service’s log.',
  },
  unavailable: {
    status: 503,
    retryable: true,
    title: 'Something the service depends on is away, or not ready yet',
    remedy:
      'Try again after `Retry-After`; `detail` says what it waits for, `/readyz` of the internal interface what is away.',
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
