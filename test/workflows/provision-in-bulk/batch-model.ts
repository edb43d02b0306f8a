/** Batches in the model of the service: one list at a time. */
import type { BatchNotes, BatchOutcome, BatchSimEnd } from '../../../domain/tickets/bulk.ts'
import type { Routes } from '../model/server.ts'

/** A SIM of the list: its pool and tariff, and the outcome that the workflow has reported. */
export interface ModelBatchSim extends Partial<Omit<BatchSimEnd, 'outcome'>> {
  readonly index: number
  readonly simId: number
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly tag: string | null
  outcome: BatchOutcome
}

export const aBatchSim = (index: number, simId: number): ModelBatchSim => ({
  index,
  simId,
  poolId: 7,
  tariffId: 3,
  tag: null,
  outcome: 'waiting',
})

const NONE = { provisionTicket: null, activateTicket: null, unassignTicket: null, step: null, code: null, detail: null }
const isOpen = ({ outcome }: ModelBatchSim) => outcome === 'waiting' || outcome === 'running'

export function batchRoutes(list: ModelBatchSim[]): Routes {
  const counts = () => {
    const having = (outcome: BatchOutcome) => list.filter((sim) => sim.outcome === outcome).length
    const names = ['refused', 'waiting', 'running', 'activated', 'alreadyActive', 'compensated', 'cancelled', 'failed']
    return Object.fromEntries(names.map((name) => [name, having(name as BatchOutcome)]))
  }
  const batch = () => ({
    id: '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
    workflowId: 'provision-in-bulk:acme:0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
    parallel: 50,
    createdAt: '2026-11-20T12:00:00.000Z',
    endedAt: null,
    total: list.length,
    counts: counts(),
    refusals: [],
  })
  const shown = (sim: ModelBatchSim) => ({ ...NONE, iccid: null, endedAt: null, ...sim })
  return {
    'GET /internal/provision-batches/*': batch,
    'GET /internal/provision-batches/*/sims': (_, __, query) => {
      const [after, limit] = [Number(query.get('afterIndex') ?? -1), Number(query.get('limit'))]
      const page = list.filter((sim) => sim.index > after && isOpen(sim)).slice(0, limit)
      return { sims: page.map(shown), nextAfterIndex: page.length < limit ? null : page.at(-1)?.index }
    },
    'POST /internal/provision-batches/*/outcomes': (_, { started, ended }: BatchNotes) => {
      const at = (index: number) => list.filter((sim) => sim.index === index && isOpen(sim))
      for (const end of ended) for (const sim of at(end.index)) Object.assign(sim, end)
      for (const index of started) for (const sim of at(index)) sim.outcome = 'running'
      return {}
    },
    'POST /internal/provision-batches/*/end': () => {
      for (const sim of list.filter(isOpen)) sim.outcome = 'cancelled'
      const failures = list.filter(({ outcome }) => outcome === 'failed' || outcome === 'compensated')
      return { batch: batch(), failures: failures.map(shown) }
    },
  }
}
