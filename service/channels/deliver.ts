/**
 * Sends what is due.
 *
 *   claim (lease, attempt counted, committed) → send → settle: sent, given up or again (committed) → the next
 *
 * At least once, in practice once. A sender that dies between the answer and the commit leaves a lease that runs out,
 * and the delivery is sent again under the same id.
 */
import type { Attempt, Outcome } from '../../domain/channels/channel.ts'
import { type NextStep, nextStep, type PastAttempts, type Retries } from '../../domain/channels/retry.ts'
import { retryAfterMs } from '../../domain/http.ts'
import { storable } from '../../domain/text.ts'
import type { PlatformTx, Store, TenantTx } from '../../store/tenancy.ts'

/** What came of an attempt, and what follows. */
export interface Result extends Omit<Attempt, 'retryAfter'>, NextStep {
  /** For how long the target asks to be left alone, in milliseconds. */
  readonly askedMs: number
}

/** Deliveries that are sent in turn: the mails of a tenant or to the operator, or the events for an endpoint. */
export interface Outbox<Tx extends TenantTx | PlatformTx, Delivery extends PastAttempts> {
  readonly within: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  readonly retries: Retries
  /** Claims the next deliveries, to be sent side by side. None: nothing is due. */
  readonly claim: (tx: Tx, leaseUntil: Date) => Promise<readonly Delivery[]>
  readonly send: (delivery: Delivery) => Promise<Attempt>
  /** Records a result, with its effects on the target. @returns called after the commit */
  readonly settle: (tx: Tx, delivery: Delivery, result: Result) => Promise<(() => void) | undefined>
}

/** Longest that a target may ask to be left alone. */
const LONGEST_ASKED_MS = 3_600_000

/**
 * Sends until nothing is due, the trouble is ours, or the turn is over.
 *
 * @returns whether due deliveries may be left
 */
export async function deliver<Tx extends TenantTx | PlatformTx, Delivery extends PastAttempts>(
  { clock }: Pick<Store, 'clock'>,
  outbox: Outbox<Tx, Delivery>,
  turnMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const ends = clock() + turnMs
  for (;;) {
    const claimed = await outbox.within((tx) => outbox.claim(tx, new Date(tx.now.getTime() + outbox.retries.leaseMs)))
    if (claimed.length === 0) return false
    const outcomes = await Promise.all(claimed.map((delivery) => attempt(outbox, delivery)))
    if (outcomes.includes('ours')) return false
    if (clock() >= ends) return true
  }
}

async function attempt<Tx extends TenantTx | PlatformTx, Delivery extends PastAttempts>(
  { within, send, settle, retries }: Outbox<Tx, Delivery>,
  delivery: Delivery,
): Promise<Outcome> {
  const { retryAfter = null, response, ...attempted } = await send(delivery)
  const after = await within((tx) => {
    const askedMs = retryAfterMs(retryAfter, tx.now.getTime(), LONGEST_ASKED_MS) ?? 0
    const step = nextStep(attempted.outcome, delivery, { retries, now: tx.now, askedMs })
    return settle(tx, delivery, { ...step, ...attempted, response: storable(response), askedMs })
  })
  after?.()
  return attempted.outcome
}
