/** October 2026, the billing cycle in tests of statements and month ends: its instants, and helpers to close it. */
import { sql } from 'kysely'
import type { SummaryNotification } from '../../../domain/notifications/notification.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { pageOfLines, type StatementLine } from '../../../service/month-end/rows/statements.ts'
import type { Harness } from '../harness.ts'

const BEGIN = Date.parse('2026-10-01T00:00:00Z')
export const DAY = 86_400_000
export const BOUNDARY = new Date('2026-11-01T00:00:00Z')
export const CLOSE = Date.parse('2026-11-01T06:00:00Z')
export const CYCLE = '2026-10'
export const MONTH_END = { by: 'month-end', cycle: CYCLE } as const

export const at = (day: number) => BEGIN + day * DAY
export const close = (harness: Harness, key = CYCLE) => harness.asTenant((tx) => closeCycle(tx, key))
export const statement = async (harness: Harness, key = CYCLE) =>
  (await harness.asTenant((tx) => pageOfLines(tx, key, { afterLine: 0, limit: 10_000 }))).lines
export const notifications = (harness: Harness) =>
  harness.rows(sql<{ body: SummaryNotification }>`select body from notifications order by id`)

export const total = (lines: readonly StatementLine[], of: (line: StatementLine) => number) =>
  lines.reduce((sum, line) => sum + of(line), 0)
export const charge = (line: StatementLine) => line.feeMicro + line.smsMicro + line.voiceMicro + line.overageMicro
