/**
 * Every failure a caller can meet: its code on the wire, its HTTP status, whether trying again
 * can help, and what it means. `docs/errors.md` is compared with this table in both directions.
 */
export const ERRORS = {
  invalid_request: { status: 400, retryable: false, title: 'The request breaks a constraint of the interface' },
  unauthorized: { status: 401, retryable: false, title: 'No valid API key was given' },
  forbidden: { status: 403, retryable: false, title: 'The API key may not do this' },
  not_found: { status: 404, retryable: false, title: 'There is no such path' },
  tenant_not_found: { status: 404, retryable: false, title: 'There is no such tenant' },
  sim_not_found: { status: 404, retryable: false, title: 'There is no such SIM' },
  pool_not_found: { status: 404, retryable: false, title: 'There is no such pool' },
  tariff_not_found: { status: 404, retryable: false, title: 'There is no such tariff' },
  ticket_not_found: { status: 404, retryable: false, title: 'There is no such ticket' },
  event_not_found: { status: 404, retryable: false, title: 'There is no such event' },
  key_not_found: { status: 404, retryable: false, title: 'There is no such API key' },
  workflow_not_found: { status: 404, retryable: false, title: 'There is no such workflow' },
  cycle_not_found: { status: 404, retryable: false, title: 'There is no such billing cycle' },
  method_not_allowed: { status: 405, retryable: false, title: 'The path does not take this method' },
  sim_already_assigned: { status: 409, retryable: false, title: 'The SIM is provisioned already' },
  sim_state_conflict: { status: 409, retryable: false, title: 'The state of the SIM does not allow this' },
  ticket_not_pending: { status: 409, retryable: false, title: 'The ticket is not pending any more' },
  cycle_open: { status: 409, retryable: false, title: 'The billing cycle has not ended yet' },
  workflow_not_running: { status: 409, retryable: false, title: 'The workflow does not run any more' },
  idempotency_in_progress: {
    status: 409,
    retryable: true,
    title: 'A request with this Idempotency-Key is being worked on',
  },
  secret_already_shown: { status: 409, retryable: false, title: 'The answer held a secret that is shown only once' },
  payload_too_large: { status: 413, retryable: false, title: 'The body is too large' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: 'The body has a content type this path does not take',
  },
  tariff_inactive: { status: 422, retryable: false, title: 'The tariff takes no new assignments' },
  tariff_needs_pool: { status: 422, retryable: false, title: 'A SIM outside a pool needs a Standard tariff' },
  tariff_pool_mismatch: { status: 422, retryable: false, title: 'The tariff does not fit the type of the pool' },
  tariff_units_disagree: { status: 422, retryable: false, title: 'Bytes and GB of the tariff differ' },
  idempotency_key_reused: { status: 422, retryable: false, title: 'The Idempotency-Key stood for another request' },
  rules_rejected: { status: 422, retryable: false, title: 'The rule set has faults and was not activated' },
  internal_error: { status: 500, retryable: true, title: 'The service failed' },
  unavailable: { status: 503, retryable: true, title: 'Something the service depends on is away' },
} as const

export type ErrorCode = keyof typeof ERRORS

/** One field that is wrong: where it is (JSON pointer into the body, or a parameter's name) and why. */
export interface FieldError {
  readonly pointer?: string
  readonly parameter?: string
  readonly detail: string
}

/**
 * A failure with a code from {@link ERRORS}.
 *
 * The message goes out to the caller; the cause goes only to the log.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly FieldError[]
  constructor(code: ErrorCode, message: string, options: { errors?: readonly FieldError[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.errors = options.errors ?? []
  }
}
