/**
 * Who is asked what became of a herd: the database, Temporal and the carrier's journal, each by itself and none of
 * them through the service that is on trial.
 */
import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client'
import pg from 'pg'
import { withConcurrency } from '../../workflows/run/concurrency.ts'
import type { CarrierEntry, OwnServers } from '../setup/own-servers.ts'

/** A SIM as the database has it. */
export interface LineSeen {
  readonly status: number
  /** Open tickets. */
  readonly open: number
}

export interface TicketSeen {
  readonly id: string
  readonly simId: number
  readonly kind: string
  readonly status: string
}

export interface RunSeen {
  readonly workflowId: string
  readonly type: string
  readonly status: string
  /** Of one that has ended: its outcome. Of one that runs: its phase or step. */
  readonly where: string
  /** Why one that runs waits; empty where it does not say. */
  readonly why: string
}

const messageOf = ({ cause, message }: Error) => (cause instanceof Error ? cause.message : message)

const KINDS = ['activate', 'suspend', 'provision', 'sendSms', 'refresh']
const STATUSES = ['pending', 'processing', 'complete', 'failed', 'cancelled']

export type Rows = <R extends object>(statement: string, values: readonly unknown[]) => Promise<R[]>

/** Asks the servers themselves; they may be away, and a question then fails. Close it before they are stopped. */
export function openSources(servers: OwnServers) {
  // The login is a superuser, whom no row-level security holds.
  const pool = new pg.Pool({ connectionString: servers.databaseUrl, max: 2 })
  pool.on('error', () => undefined)
  const connection = Connection.lazy({ address: servers.temporalAddress })
  const rows: Rows = async (statement, values) => (await pool.query(statement, [...values])).rows
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

export function witnessesOf({ rows: ask, temporal, journal }: Sources, tenantId: string) {
  const rows = <R extends object>(statement: string) => ask<R>(statement, [tenantId])
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
    /** SIMs that were Active at some time, and whether they are. */
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
    mails: () => rows<{ id: string; status: string }>('select id, status from mails where tenant_id = $1'),
    requestsLeft: async (): Promise<number> => {
      const [row] = await rows<{ left: number }>(
        'select count(*)::integer as left from workflow_outbox where tenant_id = $1 and done_at is null',
      )
      return row?.left ?? 0
    },
    /** How many workflows of a type run, by Temporal's list. */
    running: async (type: string): Promise<number> =>
      (await temporal.count(`${ofTenant} and WorkflowType = '${type}' and ExecutionStatus = 'Running'`)).count,
    /** Every workflow, by Temporal: how it ended, or what it says it waits for. */
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
    /** What the carrier wrote down of these lines, in its order. */
    carrier: async (iccids: ReadonlySet<string>): Promise<CarrierEntry[]> =>
      (await journal()).filter(({ iccid }) => iccids.has(iccid)),
  }
}
export type Witnesses = ReturnType<typeof witnessesOf>
