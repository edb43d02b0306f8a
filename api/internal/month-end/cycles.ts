import { Type } from 'typebox'
import {
  ApplyChanges,
  ChangesOpened,
  CloseRequest,
  CycleInfo,
  MonthEndBatches,
  MonthEndCounts,
  QueuedChangeInfo,
  RetryChanges,
  ReturnSims,
} from '../../../domain/month-end/month-end.ts'
import { Id, Instant, nullable, oneOf, strictObject } from '../../../domain/schema.ts'
import { closeCycle, prepareClose } from '../../../service/month-end/close-cycle.ts'
import { applyChanges, openReturns, retryChanges } from '../../../service/month-end/open-changes.ts'
import { queuedChanges, suspensionsToRenew } from '../../../service/month-end/rows/changes.ts'
import { listCycles } from '../../../service/month-end/rows/progress.ts'
import { monthEndBatches, monthEndCounts, prepareRenewal, renewCycle } from '../../../service/month-end/steps.ts'
import { cycleNamed } from '../../../service/usage/rows/cycles.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { CycleParams } from '../../http/params.ts'

const After = {
  afterSimId: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'SIMs with a higher id',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 200, description: 'Most items' })),
}
const Next = nullable(Id('Request SIMs after this one; null at the end'))
const MOST_CYCLES = 500

const nextAfter = (rows: readonly { readonly simId: number }[], limit: number) =>
  rows.length < limit ? null : (rows.at(-1)?.simId ?? null)

const iso = (at: Date) => at.toISOString()
// A month end's requests go through a whole estate.
const route = internalRoutes('Cycles', { slow: true })

export const cycleRoutes = [
  route('GET', '/cycles', {
    operationId: 'listCycles',
    isOpenTo: 'read',
    summary: 'Billing cycles, the newest first',
    description: `The newest ${MOST_CYCLES}; read older ones by their key.`,
    response: { 200: Type.Array(CycleInfo) },
    read: async (tx) =>
      (await listCycles(tx, MOST_CYCLES)).map(({ statedAt: _, ...row }) => ({
        ...row,
        startsAt: iso(row.startsAt),
        endsAt: iso(row.endsAt),
        openedAt: iso(row.openedAt),
        closedAt: row.closedAt && iso(row.closedAt),
      })),
  }),
  route('GET', '/cycles/:key/changes', {
    operationId: 'listQueuedChanges',
    summary: 'Changes queued before the end of the cycle, and still queued',
    problems: ['cycle_not_found'],
    params: CycleParams,
    query: Type.Object({
      ...After,
      kind: Type.Optional(oneOf(['unassign', 'move'])),
    }),
    response: { 200: strictObject({ changes: Type.Array(QueuedChangeInfo), nextAfterSimId: Next }) },
    read: async (tx, { params, query: { afterSimId = 0, limit = 200, kind } }) => {
      const changes = await queuedChanges(tx, await cycleNamed(tx, params.key), { afterSimId, limit, kind })
      return {
        changes: changes.map(({ leftToOther: _, ...change }) => change),
        nextAfterSimId: nextAfter(changes, limit),
      }
    },
  }),
  route('GET', '/cycles/:key/batches', {
    operationId: 'listMonthEndBatches',
    summary: 'SIMs that the month end has yet to begin, in batches',
    problems: ['cycle_not_found', 'cycle_open'],
    params: CycleParams,
    query: Type.Object({
      kind: oneOf(['unassign', 'move', 'renew']),
      afterSimId: After.afterSimId,
      size: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 500, description: 'SIMs of a batch' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Most items' })),
    }),
    response: { 200: MonthEndBatches },
    read: (tx, { params, query: { kind, afterSimId = 0, size = 500, limit = 20 } }) =>
      monthEndBatches(tx, params.key, kind, { afterSimId, size, limit }),
  }),
  route('GET', '/cycles/:key/progress', {
    operationId: 'readMonthEndProgress',
    summary: 'Progress of the month end',
    problems: ['cycle_not_found'],
    params: CycleParams,
    response: { 200: MonthEndCounts },
    read: (tx, { params }) => monthEndCounts(tx, params.key),
  }),
  route('POST', '/cycles/:key/changes/apply', {
    operationId: 'applyQueuedChanges',
    summary: 'Open the tickets of queued changes, at most 500; once for each SIM and cycle',
    problems: ['cycle_not_found', 'cycle_open', 'cycle_closed'],
    params: CycleParams,
    body: ApplyChanges,
    response: { 200: ChangesOpened },
    change: (tx, { params, body }) => applyChanges(tx, params.key, body),
  }),
  route('POST', '/cycles/:key/changes/retry', {
    operationId: 'retryFailedChanges',
    summary: 'Open tickets again for failed changes of the cycle that are still queued, at most 500',
    problems: ['cycle_not_found', 'cycle_open', 'cycle_closed'],
    params: CycleParams,
    body: RetryChanges,
    response: { 200: ChangesOpened },
    change: (tx, { params, body }) => retryChanges(tx, params.key, body),
  }),
  route('POST', '/cycles/:key/suspensions/return', {
    operationId: 'returnSuspendedSims',
    summary: 'Reactivate SIMs whose suspension ends with the cycle, if no workflow does it',
    problems: ['cycle_not_found', 'cycle_open', 'cycle_closed'],
    params: CycleParams,
    body: ReturnSims,
    response: { 200: ChangesOpened },
    change: (tx, { params, body }) => openReturns(tx, params.key, body.simIds),
  }),
  route('GET', '/cycles/:key/suspensions', {
    operationId: 'listSuspensionsToRenew',
    summary: 'SIMs suspended by the watchdog until the renewal',
    problems: ['cycle_not_found'],
    params: CycleParams,
    query: Type.Object({
      ...After,
      throughSimId: Type.Optional(
        Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'SIMs up to this id' }),
      ),
    }),
    response: {
      200: strictObject({
        suspensions: Type.Array(strictObject({ simId: Id('SIM'), workflowId: nullable(Type.String()) })),
        nextAfterSimId: Next,
      }),
    },
    read: async (tx, { params, query: { afterSimId = 0, limit = 200, throughSimId = Number.MAX_SAFE_INTEGER } }) => {
      await cycleNamed(tx, params.key)
      const suspensions = await suspensionsToRenew(tx, params.key, { afterSimId, throughSimId }, limit)
      return { suspensions, nextAfterSimId: nextAfter(suspensions, limit) }
    },
  }),
  route('POST', '/cycles/:key/renew', {
    operationId: 'renewCycle',
    summary: 'Open the next cycle',
    problems: ['cycle_not_found', 'cycle_open'],
    params: CycleParams,
    response: { 200: strictObject({ opened: Type.Boolean({ description: 'Whether this call opened it' }) }) },
    prepare: ({ tenantId, params }, { store }) => prepareRenewal(store, tenantId, params.key),
    change: (tx, { params }) => renewCycle(tx, params.key),
  }),
  route('POST', '/cycles/:key/close', {
    operationId: 'closeCycle',
    summary: 'Close an ended cycle and make its statement; a repetition gets the same answer',
    description: 'Needs no body: the service counts changes and reactivated SIMs.',
    problems: ['cycle_not_found', 'cycle_open'],
    params: CycleParams,
    body: CloseRequest,
    response: {
      200: strictObject({
        statement: Type.Boolean({ description: 'False: the cycle was empty' }),
        closedAt: Instant('Time of the close'),
      }),
    },
    prepare: ({ tenantId, params }, { store }) => prepareClose(store, tenantId, params.key),
    change: (tx, { params }) => closeCycle(tx, params.key),
  }),
]
