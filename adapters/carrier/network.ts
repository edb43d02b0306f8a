/** Requests to a carrier, and how they can fail. */
import type { CarrierFault } from '../../domain/temporal/ticket-ends.ts'
import type { CarrierOperation } from '../../domain/tickets/decisions.ts'

export interface CarrierRequest {
  /** UUID. The carrier acts once for each id, so a repeated request must have the same id. */
  readonly ticketId: string
  readonly operation: CarrierOperation
  readonly iccid: string
  /** Name of the SIM's target pool; with `provision` and `move`. */
  readonly pool?: string
  /** Name of the SIM's target tariff; with `provision` and `move`. */
  readonly tariff?: string
  /** Text of an SMS; with `sendSms`. */
  readonly message?: string
}

export interface CarrierResponse {
  readonly ticketId: string
  /** `already`: there was nothing to do, because the SIM already was in the requested state. */
  readonly effect: 'done' | 'already'
}

export interface Network {
  /** Fingerprint of the carrier's address and our secret: the same in all workers with both. Does not reveal the secret. */
  readonly credential: string
  /** Requests an operation. Repeat it without a response: the carrier acts once a ticket. @throws only CarrierError */
  perform(request: CarrierRequest, options?: { readonly signal?: AbortSignal }): Promise<CarrierResponse>
  /** Checks whether the carrier can be reached; changes nothing. @throws CarrierError for any failure, and no other */
  ping(options?: { readonly signal?: AbortSignal }): Promise<void>
}

export interface CarrierFailure {
  /** The carrier's own code if it refused. A `CarrierFault` if it gave no valid response. */
  readonly code: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** How long to wait before the next request, in milliseconds, if the carrier sent it. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

const UNAUTHORIZED: CarrierFault = 'carrier_unauthorized'

/** Words for tenants, by code. They contain nothing from the bridge, a third party's program. */
const PLAIN_WORDS: ReadonlyMap<string, string> = new Map<CarrierFault, string>([
  ['carrier_busy', 'the carrier is busy'],
  ['carrier_timeout', 'the carrier did not answer in time'],
  ['carrier_unauthorized', 'the carrier cannot be asked just now'],
  ['carrier_unavailable', 'the carrier cannot do it just now'],
  ['carrier_unreachable', 'the carrier could not be reached'],
  ['carrier_unreadable', 'the carrier gave no answer that can be read'],
])

/** Why the carrier did not act, or why that is unknown. The message is for the operator, and may contain addresses. */
export class CarrierError extends Error {
  readonly code: string
  readonly retryable: boolean
  /** `account`: the carrier refuses our credentials, for every request. */
  readonly concerns: 'sim' | 'account'
  readonly retryAfterMs: number | undefined
  /** The message for a tenant. */
  readonly plainWords: string
  constructor(message: string, failure: CarrierFailure) {
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause })
    this.name = 'CarrierError'
    this.code = failure.code
    this.plainWords = PLAIN_WORDS.get(failure.code) ?? 'the carrier refused it'
    this.retryable = failure.retryable
    this.concerns = failure.code === UNAUTHORIZED ? 'account' : 'sim'
    this.retryAfterMs = failure.retryAfterMs
  }
}
