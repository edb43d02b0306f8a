/**
 * The figures of pools and SIMs, computed from their history: which pool a SIM was in and when, when it was Active, and
 * which usage records were accepted. The service keeps ledger rows and totals; the model keeps none and adds up the
 * history each time. It divides allowances and overage with the service's own `poolFigures`.
 */

import type { Cycle } from '../../../domain/time/cycle.ts'
import { type Allowance, type LedgerRow, poolFigures } from '../../../domain/usage/allowance.ts'

export const OUTSIDE = 0

interface Membership {
  readonly poolId: number
  readonly tariffId: number | null
  readonly from: number
  to: number
}
interface Span {
  readonly from: number
  to: number
}
export const AMOUNTS = ['bytes', 'voiceSeconds', 'smsCount', 'sessions'] as const
export type Amounts = Readonly<Record<(typeof AMOUNTS)[number], number>>
export interface LineModel {
  readonly simId: number
  status: 'unprovisioned' | 'active' | 'suspended'
  /** Key of the cycle in which the watchdog suspended it until the renewal. */
  suspendedIn: string | null
  readonly memberships: Membership[]
  readonly active: Span[]
  /** From the start of each cycle at which the SIM was due for reactivation, until that suspension was over. */
  readonly dueBack: Span[]
  readonly records: ({ readonly id: string; readonly at: number } & Amounts)[]
}

export const aLine = (simId: number): LineModel => ({
  simId,
  status: 'unprovisioned',
  suspendedIn: null,
  memberships: [],
  active: [],
  dueBack: [],
  records: [],
})

export const openMembership = (line: LineModel) => line.memberships.find(({ to }) => to === Number.POSITIVE_INFINITY)

const inside = (span: Span, at: number) => span.from <= at && at < span.to
const overlap = (...spans: Span[]) =>
  Math.max(...spans.map(({ from }) => from)) < Math.min(...spans.map(({ to }) => to))
const spanOf = (cycle: Cycle): Span => ({ from: cycle.startsAt, to: cycle.endsAt })

/** The pool of a SIM at an instant; `OUTSIDE` if it had none. */
const poolAt = (line: LineModel, at: number) => line.memberships.findLast((m) => inside(m, at))?.poolId ?? OUTSIDE

/** A SIM's usage in a pool and a cycle. */
export const amountsOf = (line: LineModel, cycle: Cycle, poolId: number): Amounts =>
  line.records
    .filter(({ at }) => inside(spanOf(cycle), at) && poolAt(line, at) === poolId)
    .reduce(
      (sum, { bytes, voiceSeconds, smsCount, sessions }) => ({
        bytes: sum.bytes + bytes,
        voiceSeconds: sum.voiceSeconds + voiceSeconds,
        smsCount: sum.smsCount + smsCount,
        sessions: sum.sessions + sessions,
      }),
      { bytes: 0, voiceSeconds: 0, smsCount: 0, sessions: 0 },
    )

export function contributes(line: LineModel, cycle: Cycle, poolId: number): boolean {
  const spans = [...line.active, ...line.dueBack]
  return line.memberships.some((m) => m.poolId === poolId && spans.some((span) => overlap(m, span, spanOf(cycle))))
}

/** The SIM's last own tariff in a pool and a cycle, by id; null: none. */
export const tariffOf = (line: LineModel, cycle: Cycle, poolId: number) =>
  line.memberships.findLast((m) => m.poolId === poolId && overlap(m, spanOf(cycle)))?.tariffId ?? null

export function figuresOf(
  lines: readonly LineModel[],
  cycle: Cycle,
  pool: { readonly id: number; readonly tariff: Allowance | null },
  tariffs: ReadonlyMap<number, Allowance>,
) {
  const rows: LedgerRow[] = lines.flatMap((line) => {
    const usageBytes = amountsOf(line, cycle, pool.id).bytes
    const contributing = contributes(line, cycle, pool.id)
    const used = line.records.some(({ at }) => inside(spanOf(cycle), at) && poolAt(line, at) === pool.id)
    if (!contributing && !used) return []
    const own = tariffs.get(tariffOf(line, cycle, pool.id) ?? 0) ?? null
    return [{ simId: line.simId, usageBytes, contributing, own }]
  })
  return { ...poolFigures(pool.tariff, rows), ledger: rows }
}
