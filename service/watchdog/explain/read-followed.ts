/** Reads the consequences of alerts: entries of the log, mails, tickets, workflows and holds, as they are now. */
import { labelOf, TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { Consequences } from '../../../domain/rules/explanation.ts'
import { enforcePoolId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { holdStates } from '../../enforcement/rows/guard.ts'
import { actionsSince, entriesOf, noticesOf, type StoredEntry, ticketsOf, workflowsOf } from '../rows/followed.ts'

/** Most items shown of each kind, the newest ones. */
const MOST = 20

/** An alert, and where to look for what followed from it. */
export interface Followable {
  readonly rule: string
  /** Keys of its tellings. */
  readonly keys: readonly string[]
  /** Since when it was acted on, epoch milliseconds; null: nothing is looked for. */
  readonly since: number | null
  /** Until when, epoch milliseconds, if another episode followed. */
  readonly until?: number | null
  /** Of the workflow that enforces the rule, and of other known ones. */
  readonly workflowIds: readonly string[]
  readonly holdIds: readonly number[]
}

export const NOTHING_FOLLOWED: Consequences = { entries: [], mails: [], tickets: [], workflows: [], holds: [] }

export const shownEntry = ({ id, message, level, at }: StoredEntry) => ({ id, message, level, date: at.toISOString() })

/** Reads what followed, for each alert. The number of statements does not grow with the alerts. */
export async function readFollowed(
  tx: TenantTx,
  subject: Subject,
  alerts: readonly Followable[],
): Promise<Consequences[]> {
  if (alerts.length === 0) return []
  const keys = alerts.flatMap((one) => one.keys)
  const since = Math.min(...alerts.flatMap((one) => one.since ?? []))
  const told = await entriesOf(tx, keys)
  const rules = alerts.map(({ rule }) => rule)
  const acted = Number.isFinite(since) ? await actionsSince(tx, subject, rules, new Date(since)) : []
  const notices = await noticesOf(tx, [...keys, ...acted.map(({ key }) => key)])
  const tickets = await ticketsOf(tx, ticketsIn([...told, ...acted]))
  const workflowIds = [...alerts.flatMap((one) => one.workflowIds), ...runsIn([...told, ...acted])]
  const workflows = await workflowsOf(tx, [...new Set(workflowIds)])
  const holds = await holdStates(tx, [...new Set(alerts.flatMap((one) => one.holdIds))])
  return alerts.map((one) => {
    const actions = acted.filter(
      ({ rule, at }) =>
        rule === one.rule && at.getTime() >= (one.since ?? Infinity) && at.getTime() < (one.until ?? Infinity),
    )
    const entries = [...told.filter(({ key }) => one.keys.includes(key)), ...actions]
    const ofEntries = new Set(entries.map(({ key }) => key))
    const ids = new Set(ticketsIn(entries))
    const runs = new Set([...one.workflowIds, ...runsIn(entries)])
    return {
      entries: entries.slice(-MOST).map(shownEntry),
      mails: notices
        .filter(({ key }) => ofEntries.has(key) || one.keys.includes(key))
        // A mail may be about several notices.
        .filter(({ mailId }, n, all) => mailId === null || all.findLastIndex((by) => by.mailId === mailId) === n)
        .slice(-MOST)
        .map(({ mailId, status, recipient, sentAt, dueAt }) => ({
          id: mailId,
          status: mailId === null ? ('waiting' as const) : (status ?? 'pending'),
          recipient,
          at: (sentAt ?? dueAt).toISOString(),
        })),
      tickets: tickets
        .filter(({ id }) => ids.has(id))
        .slice(-MOST)
        .map(({ id, simId, type, status }) => ({
          id,
          simId,
          type: labelOf(TicketType, type),
          status: labelOf(TicketStatus, status),
        })),
      workflows: workflows
        .filter(({ id }) => runs.has(id))
        .slice(-MOST)
        .map(({ id, state, at }) => ({ id, state, at: at.toISOString() })),
      holds: one.holdIds.flatMap((id) => {
        const state = holds.get(id)
        return state === undefined ? [] : [{ id, state }]
      }),
    }
  })
}

const ticketsIn = (entries: readonly StoredEntry[]): string[] => entries.flatMap(({ ticketId }) => ticketId ?? [])
const runsIn = (entries: readonly StoredEntry[]): string[] => entries.flatMap(({ workflowId }) => workflowId ?? [])

/** Ids of the workflow that enforces rules about a subject in a cycle. */
export function enforcedBy(tenantId: string, { kind, id }: Subject, cycleKey: string): string[] {
  if (kind === 'sim') return [suspendOnOverageId(tenantId, id, cycleKey)]
  return kind === 'pool' ? [enforcePoolId(tenantId, id, cycleKey)] : []
}
