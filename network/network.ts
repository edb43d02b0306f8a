/** What a carrier can be asked to do, and how it can fail. */
import type { CarrierOperation } from '../domain/tickets/decisions.ts'

export interface CarrierRequest {
  /** UUID. The carrier acts once for each: whoever repeats a request repeats its id. */
  readonly ticketId: string
  readonly operation: CarrierOperation
  readonly iccid: string
  /** Name of the pool the line goes to; with `provision` and `move`. */
  readonly pool?: string
  /** Name of the tariff the line gets; with `provision` and `move`. */
  readonly tariff?: string
  /** Text of an SMS; with `sendSms`. */
  readonly message?: string
}

export interface CarrierResponse {
  readonly ticketId: string
  /** `already`: there was nothing to do; the line was so before. */
  readonly effect: 'done' | 'already'
}

export interface Network {
  /**
   * Asks the carrier for one operation.
   *
   * Safe to repeat with the same ticket id, and to be repeated when no answer came: the carrier may have acted.
   *
   * @throws CarrierError always and only
   */
  perform(request: CarrierRequest, options?: { readonly signal?: AbortSignal }): Promise<CarrierResponse>
  /**
   * Asks whether the carrier can be reached; changes nothing there.
   *
   * @throws CarrierError always and only
   */
  ping(options?: { readonly signal?: AbortSignal }): Promise<void>
}

export interface CarrierFailure {
  /** The carrier's own code where it refused; one that begins with `carrier_` where it could not be asked. */
  readonly code: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** How long the carrier wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/** What a tenant is told, by code: nothing of what the bridge said, which is somebody else's program. */
const PLAIN_WORDS: Readonly<Record<string, string>> = {
  carrier_busy: 'the carrier is busy',
  carrier_timeout: 'the carrier did not answer in time',
  carrier_unauthorized: 'the carrier cannot be asked just now',
  carrier_unavailable: 'the carrier cannot do it just now',
  carrier_unreachable: 'the carrier could not be reached',
  carrier_unreadable: 'the carrier gave no answer that can be read',
}

/** Why the carrier did not do it, or why that is not known. The message is the operator's: it may name addresses. */
export class CarrierError extends Error {
  readonly code: string
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  /** The same for a tenant. */
  readonly plainWords: string
  constructor(message: string, failure: CarrierFailure) {
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause })
    this.name = 'CarrierError'
    this.code = failure.code
    this.plainWords = PLAIN_WORDS[failure.code] ?? 'the carrier refused it'
    this.retryable = failure.retryable
    this.retryAfterMs = failure.retryAfterMs
  }
}
