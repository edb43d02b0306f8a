/** Billing cycles to play in, in true time. */
import { type Cycle, cycleAt } from '../../domain/time/cycle.ts'

/** 3 to 30 minutes: enough of them that one always ends soon. */
const SHORT = Array.from({ length: 28 }, (_, n) => `PT${n + 3}M`)

/**
 * Of the billing cycles that are aligned to the clock the one whose current cycle ends first, but not too soon.
 *
 * @param needsMs what has to fit into what is left of it, on a machine that does something else too; at most 7 minutes
 */
export function cycleThatEndsSoon(needsMs: number): { readonly billingCycle: string; readonly cycle: Cycle } {
  const now = Date.now()
  const [first] = SHORT.map((billingCycle) => ({ billingCycle, cycle: cycleAt(billingCycle, now) }))
    .filter(({ cycle }) => cycle.endsAt - now >= needsMs)
    .toSorted((a, b) => a.cycle.endsAt - b.cycle.endsAt)
  if (first === undefined) throw new Error(`no short cycle has ${needsMs} ms left`)
  return first
}

/** One that has days left: for what is not about its end, nor about what it brings by and by. */
export function roomyCycle(): string {
  const left = (cycle: string) => cycleAt(cycle, Date.now()).endsAt - Date.now()
  return ['P29D', 'P31D', 'P37D'].toSorted((a, b) => left(b) - left(a))[0] ?? 'P29D'
}
