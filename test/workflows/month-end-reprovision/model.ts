/** Month ends in the model of the service: the work of a cycle's end, and its progress. */
import type { Routes } from '../model/server.ts'
import { fail, type Kind, type ModelSim, type ModelTicket, OPEN, SOME_TIME } from '../model/tickets.ts'

type Body = Record<string, any>
interface Model {
  readonly sims: Map<number, ModelSim>
  readonly tickets: ModelTicket[]
  readonly begun: Map<string, ModelTicket>
  readonly refusedBatches: Set<string>
  readonly cycles: Body[]
  readonly closed: Body[]
  broughtBack: number
  renewals: number
}
interface Page {
  readonly page: [number, ModelSim][]
  readonly nextAfterSimId: number | null
}
interface Ways {
  readonly simOf: (id: number) => ModelSim
  readonly ticketOf: (id: string) => ModelTicket
  readonly open: (kind: Kind, body: Body) => { id: string }
  readonly advance: (ticket: ModelTicket) => void
  readonly pageOf: (query: URLSearchParams, has: (sim: ModelSim) => boolean) => Page
}

const A_CYCLE = { startsAt: SOME_TIME, openedAt: SOME_TIME, recordsAccepted: 0, recordsDuplicate: 0 }

export function monthEndRoutes(model: Model, { simOf, ticketOf, open, advance, pageOf }: Ways): Routes {
  const { sims, tickets } = model

  /** SIMs that a step of the month end has not begun yet. */
  const idsToDo = (kind: string): number[] =>
    [...sims]
      .filter(([id, { change, suspension }]) =>
        kind === 'renew'
          ? suspension?.cause === 'watchdog' && suspension.until === 'renewal'
          : change !== null && change.unassign === (kind === 'unassign') && !model.begun.has(`${kind}/${id}`),
      )
      .map(([id]) => id)
      .sort((a, b) => a - b)

  const KIND = { unassign: 'unassign', move: 'provision', return: 'activate' } as const
  function begin(kind: keyof typeof KIND, simId: number, cycle: string) {
    const leaves = OPEN.has(model.begun.get(`unassign/${simId}`)?.status ?? 2)
    if (kind === 'return' && leaves) return { simId, ticketId: null, code: 'sim_state_conflict', detail: 'it leaves' }
    const { poolId, tariffId } = simOf(simId).change ?? {}
    const row = model.cycles.find(({ key }) => key === cycle)
    const cause = { by: 'month-end', cycle }
    const { id } = open(KIND[kind], { simId, poolId, tariffId, cause, effectiveAt: row?.['endsAt'] })
    model.begun.set(`${kind}/${simId}`, ticketOf(id))
    return { simId, ticketId: id, code: null, detail: null }
  }
  /** Counts the month end's tickets of a kind by status. */
  function countsOf(kind: keyof typeof KIND): Record<string, number> {
    const all = [...model.begun].filter(([name]) => name.startsWith(kind)).map(([, { status }]) => status)
    const counts = {
      queued: kind === 'return' ? 0 : idsToDo(kind).length,
      open: all.filter((status) => OPEN.has(status)).length,
      complete: all.filter((status) => status === 2).length,
      failed: all.filter((status) => status > 2).length,
    }
    return { ...counts, total: Object.values(counts).reduce((sum, n) => sum + n) }
  }

  return {
    'GET /internal/cycles': () => model.cycles.map((row) => ({ ...A_CYCLE, ...row })),
    'GET /internal/cycles/*/batches': (_, __, query) => {
      const [size, limit] = [Number(query.get('size')), Number(query.get('limit'))]
      const ids = idsToDo(query.get('kind') ?? '').filter((id) => id > Number(query.get('afterSimId')))
      const batches = Array.from({ length: Math.min(limit, Math.ceil(ids.length / size)) }, (_, n) => {
        const batch = ids.slice(n * size, (n + 1) * size)
        return { afterSimId: (batch[0] ?? 1) - 1, throughSimId: batch.at(-1) ?? 0, count: batch.length }
      })
      return { batches, nextAfterSimId: ids.length > limit * size ? (batches.at(-1)?.throughSimId ?? null) : null }
    },
    'GET /internal/cycles/*/progress': ([key]) => {
      for (const ticket of tickets) if (ticket.body['cause']?.by === 'month-end') advance(ticket)
      const [unassign, move, returns] = [countsOf('unassign'), countsOf('move'), countsOf('return')]
      const suspended = idsToDo('renew').length
      const total = suspended + model.broughtBack
      const closedAt = model.cycles.find((row) => row['key'] === key)?.['closedAt'] ?? null
      const changes = Object.fromEntries(Object.entries(move).map(([name, n]) => [name, n + (unassign[name] ?? 0)]))
      const renewals = { ...returns, total, queued: suspended, open: 0, complete: model.broughtBack, released: 0 }
      return { cycle: key, closedAt, unassign, move, changes, renewals }
    },
    'POST /internal/cycles/*/changes/apply': ([key], { kind, afterSimId, throughSimId }) => {
      if (model.refusedBatches.has(`${kind}/${afterSimId}`)) fail('cycle_closed', 'as the test wants it')
      const ids = idsToDo(kind).filter((id) => id > afterSimId && id <= throughSimId)
      return { results: ids.map((id) => begin(kind, id, key)), nextAfterSimId: null }
    },
    'POST /internal/cycles/*/changes/retry': ([key], { kind }) => {
      const failed = [...model.begun].filter(([name, { status }]) => name.startsWith(kind) && status === 3)
      return { results: failed.map(([, { simId }]) => begin(kind, simId, key)), nextAfterSimId: null }
    },
    'POST /internal/cycles/*/suspensions/return': ([key], { simIds }) => ({
      results: simIds.map((id: number) => begin('return', id, key)),
      nextAfterSimId: null,
    }),
    'GET /internal/cycles/*/suspensions': (_, __, query) => {
      const { page, nextAfterSimId } = pageOf(
        query,
        (sim) => sim.suspension?.cause === 'watchdog' && sim.suspension.until === 'renewal',
      )
      return {
        suspensions: page.map(([simId, sim]) => ({ simId, workflowId: sim.suspension?.workflowId ?? null })),
        nextAfterSimId,
      }
    },
    'POST /internal/cycles/*/renew': () => {
      model.renewals += 1
      return { opened: model.renewals === 1 }
    },
    'POST /internal/cycles/*/close': ([key], body) => {
      model.closed.push({ key, ...body })
      for (const row of model.cycles) if (row['key'] === key) row['closedAt'] = row['endsAt']
      return { statement: true, closedAt: SOME_TIME }
    },
  }
}
