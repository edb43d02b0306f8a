/**
 * The witnesses of a herd's state: the database, Temporal and the carrier's journal. Each is read directly, not through
 * the service under test.
 */
import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client'
import pg from 'pg'
import { withConcurrency } from '../../domain/temporal/with-concurrency.ts'
import type { CarrierEntry, OwnServers } from '../setup/own-servers.ts'

/** A SIM in the database. */
interface LineSeen {
  readonly status: number
  /** Open tickets. */
  readonly open: number
}

interface TicketSeen {
  readonly id: string
  readonly simId: number
  readonly kind: string
  readonly status: string
}

interface RunSeen {
  readonly workflowId: string
  readonly type: string
  readonly status: string
  /** The outcome of an ended run; the phase or step of an open one. */
  readonly where: string
  /** Why an open run waits. Empty if it gives no reason. */
  readonly why: string
}

const messageOf = ({ cause, message }: Error) => (cause instanceof Error ? cause.message : message)

const KINDS = ['activate', 'suspend', 'provision', 'sendSms', 'refresh']
const STATUSES = ['pending', 'processing', 'complete', 'failed', 'cancelled']

export type Rows = <R extends object>(statement: string, values?: readonly unknown[]) => Promise<R[]>

/** Connections to the servers themselves. A read fails while its server is down. Close them before the servers. */
export function openSources(servers: OwnServers) {
  // The login is a superuser: row-level security does not apply.
  const pool = new pg.Pool({ connectionString: servers.databaseUrl, max: 2 })
  pool.on('error', () => undefined)
  const connection = Connection.lazy({ address: servers.temporalAddress })
  const rows: Rows = async (statement, values = []) => (await pool.query(statement, [...values])).rows
  return {
    rows,
    temporal: new Client({ connection, namespace: servers.namespace }).workflow,
    journal: servers.carrier.journal,
    close: async () => {
      await connection.close()
      await pool.end()
    },
  }
}
export type Sources = ReturnType<typeof openSources>

export function witnessesOf({ rows: query, temporal, journal }: Sources, tenantId: string) {
  const rows = <R extends object>(statement: string) => query<R>(statement, [tenantId])
  const ofTenant = `SimherdTenant = '${tenantId}'`

  return {
    lines: async (): Promise<Map<number, LineSeen>> => {
      const seen = await rows<{ id: string; status: number; open: number }>(`
        select s.id, s.status, (select count(*)::integer from tickets t
                                 where t.sim_id = s.id and t.status in (0, 1)) as open
          from sims s where tenant_id = $1`)
      return new Map(seen.map(({ id, status, open }) => [Number(id), { status, open }]))
    },
    tickets: async (): Promise<TicketSeen[]> => {
      const seen = await rows<{ id: string; sim_id: string; type: number; status: number }>(
        'select id, sim_id, type, status from tickets where tenant_id = $1 order by seq',
      )
      return seen.map(({ id, sim_id, type, status }) => ({
        id,
        simId: Number(sim_id),
        kind: KINDS[type] ?? String(type),
        status: STATUSES[status] ?? String(status),
      }))
    },
    suspensions: () =>
      rows<{ sim_id: string; cause: string; workflow_id: string; open: boolean }>(`
        select sim_id, cause, workflow_id, closed_at is null as open from suspensions
         where tenant_id = $1 order by sim_id, id`),
    /** The spans in which SIMs were Active; `open`: they still are. */
    spans: () =>
      rows<{ sim_id: string; open: boolean }>(
        'select sim_id, to_at is null as open from active_spans where tenant_id = $1 order by sim_id, id',
      ),
    log: () =>
      rows<{ key: string; sim_id: string | null; message: string }>(
        'select dedupe_key as key, sim_id, message from watchdog_log where tenant_id = $1 order by id',
      ),
    notifications: () =>
      rows<{ key: string; mail_id: string | null }>(
        'select dedupe_key as key, mail_id from notifications where tenant_id = $1 order by id',
      ),
    mails: () =>
      rows<{ id: string; status: string }>(
        'select mail_id as id, status from deliveries where mail_id is not null and tenant_id = $1',
      ),
    requestsLeft: async (): Promise<number> => {
      const [row] = await rows<{ left: number }>(
        'select count(*)::integer as left from workflow_outbox where tenant_id = $1 and done_at is null',
      )
      return row?.left ?? 0
    },
    /** The number of running workflows of a type, from Temporal's list. */
    running: async (type: string): Promise<number> =>
      (await temporal.count(`${ofTenant} and WorkflowType = '${type}' and ExecutionStatus = 'Running'`)).count,
    /** Every workflow, from Temporal: how it ended, or why it waits. */
    runs: async (): Promise<RunSeen[]> => {
      const listed: WorkflowExecutionInfo[] = []
      for await (const run of temporal.list({ query: ofTenant })) listed.push(run)
      const seen: RunSeen[] = []
      await withConcurrency(listed, 10, async ({ workflowId, runId, type, status: { name: status } }) => {
        const run = temporal.getHandle(workflowId, runId)
        if (status === 'RUNNING') {
          // biome-ignore lint/suspicious/noExplicitAny: the states of all types
          const state: any = await run.query('state')
          const why: string = state.waitsFor?.why ?? state.reason ?? ''
          seen.push({ workflowId, type, status, where: state.phase ?? state.step, why })
        } else {
          const { outcome } = await run.result().catch((error: Error) => ({ outcome: messageOf(error) }))
          seen.push({ workflowId, type, status, where: outcome, why: '' })
        }
      })
      return seen
    },
    /** The carrier's journal of these lines, the oldest first. */
    carrier: async (iccids: ReadonlySet<string>): Promise<CarrierEntry[]> =>
      (await journal()).filter(({ iccid }) => iccids.has(iccid)),
  }
}
export type Witnesses = ReturnType<typeof witnessesOf>
