/** Reads an entry of the watchdog log with its grounds, and the consequences of alerts. Every statement has a limit. */
import { sql } from 'kysely'
import type { TicketStatus, TicketType } from '../../../domain/codes.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import type { LeafExplanation } from '../../../rules/engine/evaluate-subject.ts'
import type { NewLogEntry } from '../../../store/log.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import type { Grounds } from '../grounds.ts'

export interface StoredEntry extends Omit<NewLogEntry, 'dedupeKey' | 'explanation' | 'grounds'> {
  readonly id: number
  readonly key: string
  readonly at: Date
  /** The comparisons of its rule; null: no rule decided it. */
  readonly leaves: readonly LeafExplanation[] | null
  /** The workflow and the ticket of the action; null without an action. */
  readonly workflowId: string | null
  readonly ticketId: string | null
  /** Null: no rule decided it. */
  readonly grounds: Grounds | null
}

const columns = sql`id, dedupe_key as key, rule, rule_version as "ruleVersion", sim_id as "simId", pool_id as "poolId",
  level, message, at, cycle_key as "cycleKey",
  case when jsonb_typeof(explanation) = 'array' then explanation end as leaves,
  explanation ->> 'workflowId' as "workflowId", explanation ->> 'ticketId' as "ticketId", grounds`

export async function findEntry(tx: TenantTx, id: number): Promise<StoredEntry | undefined> {
  const { rows } = await sql<StoredEntry>`
    select ${columns} from watchdog_log where id = ${id}::bigint`.execute(tx.q)
  return rows[0]
}

/** Rows of what followed. */
const MOST = 100
/** Most entries of a SIM or a pool that are searched for those of a rule. */
const MOST_READ = 1000

export async function entriesOf(tx: TenantTx, keys: readonly string[]): Promise<StoredEntry[]> {
  if (keys.length === 0) return []
  const { rows } = await sql<StoredEntry>`
    select ${columns} from watchdog_log
     where tenant_id = ${mine} and dedupe_key = any(${[...keys]}::text[]) order by at, id limit 1000`.execute(tx.q)
  return rows
}

/** Entries about actions caused by rules: of a SIM, or of a pool and its SIMs, the oldest first. Others have none. */
export async function actionsSince(
  tx: TenantTx,
  { kind, id }: Subject,
  rules: readonly string[],
  since: Date,
): Promise<StoredEntry[]> {
  if (kind === 'tenant' || kind === 'tag') return []
  const { rows } = await sql<StoredEntry>`
    select * from (
      select ${columns} from watchdog_log
       where tenant_id = ${mine} and at >= ${since}
         and ${kind === 'pool' ? sql`pool_id = ${id}::bigint` : sql`sim_id = ${id}::bigint`}
       order by at, id limit ${MOST_READ}) e
     where rule = any(${[...rules]}::text[]) and ("workflowId" is not null or key like '%/wouldSuspend/%')
     order by at, id limit ${MOST}`.execute(tx.q)
  return rows
}

/** A notice and the mail that it left with. */
export interface NoticeRow {
  readonly key: string
  readonly mailId: string | null
  readonly status: 'pending' | 'sent' | 'failed' | null
  readonly recipient: string | null
  readonly dueAt: Date
  readonly sentAt: Date | null
}

export async function noticesOf(tx: TenantTx, keys: readonly string[]): Promise<NoticeRow[]> {
  if (keys.length === 0) return []
  const { rows } = await sql<NoticeRow>`
    select n.dedupe_key as key, n.mail_id as "mailId", m.status, m.recipient, n.due_at as "dueAt", case m.status when 'sent' then m.ended_at end as "sentAt"
      from notifications n left join deliveries m on m.mail_id = n.mail_id and m.tenant_id = n.tenant_id
     where n.tenant_id = ${mine} and n.dedupe_key = any(${[...keys]}::text[]) order by n.id limit 1000`.execute(tx.q)
  return rows
}

export interface TicketRow {
  readonly id: string
  readonly simId: number
  readonly type: TicketType
  readonly status: TicketStatus
}

export async function ticketsOf(tx: TenantTx, ids: readonly string[]): Promise<TicketRow[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<TicketRow>`
    select id, sim_id as "simId", type, status from tickets
     where id = any(${[...ids]}::uuid[]) order by seq limit 1000`.execute(tx.q)
  return rows
}

export interface WorkflowRow {
  readonly id: string
  readonly state: 'requested' | 'started' | 'held'
  readonly at: Date
}

/** Reads the states of workflows by id: started, requested and not sent yet, or held by a person. */
export async function workflowsOf(tx: TenantTx, ids: readonly string[]): Promise<WorkflowRow[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<WorkflowRow>`
    select distinct on (id) id, state, at from (
      select workflow_id as id, case when held then 'held' else 'started' end as state, started_at as at,
             case when held then 0 else 2 end as n
        from workflow_starts where tenant_id = ${mine} and workflow_id = any(${[...ids]}::text[])
      union all
      select workflow_id, 'requested', due_at, 1 from workflow_outbox
       where tenant_id = ${mine} and workflow_id = any(${[...ids]}::text[]) and done_at is null) w
     order by id, n`.execute(tx.q)
  return rows
}
