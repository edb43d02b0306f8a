/** October 2026, the billing cycle in tests of statements and month ends: its instants, and helpers to close it. */
import { sql } from 'kysely'
import { TicketType } from '../../../domain/codes.ts'
import type { SummaryNotification } from '../../../domain/notifications/notification.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { pageOfLines, type StatementLine } from '../../../service/month-end/rows/statements.ts'
import type { TestStore } from '../../setup/estate.ts'
import { aHarness, type Harness } from '../harness.ts'

const BEGIN = Date.parse('2026-10-01T00:00:00Z')
export const DAY = 86_400_000
export const BOUNDARY = new Date('2026-11-01T00:00:00Z')
export const CLOSE = Date.parse('2026-11-01T06:00:00Z')
export const CYCLE = '2026-10'
export const NEXT = '2026-11'
export const MONTH_END = { by: 'month-end', cycle: CYCLE } as const
/** As the month end changes a SIM. */
export const AT_BOUNDARY = { type: TicketType.Provision, cause: MONTH_END, effectiveAt: BOUNDARY } as const

export const at = (day: number) => BEGIN + day * DAY
/** A tenant of October. */
export async function inOctober(store: TestStore): Promise<Harness> {
  store.now = at(3)
  return aHarness(store)
}
export const close = (harness: Harness, key = CYCLE) => harness.asTenant((tx) => closeCycle(tx, key))
/** Closes a cycle as of six hours into a month. @param month YYYY-MM */
export function closeIn(store: TestStore, harness: Harness, month: string, key: string) {
  store.now = Date.parse(`${month}-01T06:00:00Z`)
  return close(harness, key)
}
export const closeNext = (store: TestStore, harness: Harness) => closeIn(store, harness, '2026-12', NEXT)
export const statement = async (harness: Harness, key = CYCLE) =>
  (await harness.asTenant((tx) => pageOfLines(tx, key, { afterLine: 0, limit: 10_000 }))).lines
export const notifications = (harness: Harness) =>
  harness.rows(sql<{ body: SummaryNotification }>`select body from notifications order by id`)

export const total = (lines: readonly StatementLine[], of: (line: StatementLine) => number) =>
  lines.reduce((sum, line) => sum + of(line), 0)
export const charge = (line: StatementLine) => line.feeMicro + line.smsMicro + line.voiceMicro + line.overageMicro
