/** Billing cycles for tests that run in real time. */
import { type Cycle, cycleAt } from '../../domain/time/cycle.ts'
import { untilInstant } from './soon.ts'

/** 3 to 30 minutes: so many that one of them always ends soon. */
const SHORT = Array.from({ length: 28 }, (_, n) => `PT${n + 3}M`)

/**
 * Of the short billing cycles, which are aligned to the clock, picks the one that ends first but leaves enough time.
 *
 * @param needsMs the time that must be left in the cycle, on a machine that also does other work; at most 7 minutes
 */
export function cycleThatEndsSoon(needsMs: number): { readonly billingCycle: string; readonly cycle: Cycle } {
  const now = Date.now()
  const [first] = SHORT.map((billingCycle) => ({ billingCycle, cycle: cycleAt(billingCycle, now) }))
    .filter(({ cycle }) => cycle.endsAt - now >= needsMs)
    .toSorted((a, b) => a.cycle.endsAt - b.cycle.endsAt)
  if (first === undefined) throw new Error(`no short cycle has ${needsMs} ms left`)
  return first
}

/**
 * Waits until {@link cycleThatEndsSoon} finds a cycle with no more than the time needed. Call it before a service is
 * started: a service that waits for the end of a cycle takes a tenth of a processor.
 */
export async function untilCycleEndsIn(needsMs: number): Promise<void> {
  await untilInstant(cycleThatEndsSoon(needsMs).cycle.endsAt - needsMs)
}

/** A cycle with days left: for tests that do not depend on its end or its progress. */
export function roomyCycle(): string {
  const left = (cycle: string) => cycleAt(cycle, Date.now()).endsAt - Date.now()
  return ['P29D', 'P31D', 'P37D'].toSorted((a, b) => left(b) - left(a))[0] ?? 'P29D'
}
