import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
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
import { Id, Instant, nullable, strictObject } from '../../../domain/schema.ts'
import { closeCycle, prepareClose } from '../../../service/month-end/close-cycle.ts'
import { applyChanges, openReturns, retryChanges } from '../../../service/month-end/open-changes.ts'
import { listCycles, suspensionsToRenew } from '../../../service/month-end/rows/progress.ts'
import {
  changesOf,
  monthEndBatches,
  monthEndCounts,
  prepareRenewal,
  renewCycle,
} from '../../../service/month-end/steps.ts'
import { cycleNamed } from '../../../service/usage/rows/cycles.ts'
import { inTenant, reading, slowly } from '../../../store/tenancy.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

const Key = Type.Object({ key: Type.String({ maxLength: 32, description: 'Key of the cycle' }) })
const After = {
  afterSimId: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, description: 'SIMs with a higher id' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 200, description: 'At most so many' })),
}
const Next = nullable(Id('Ask for what follows this SIM; null at the end'))
const MOST_CYCLES = 500

const nextAfter = (rows: readonly { readonly simId: number }[], limit: number) =>
  rows.length < limit ? null : (rows.at(-1)?.simId ?? null)

export const cycleRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store: usual }) => {
  // A month end's requests go through a whole estate, so they get more time.
  const store = slowly(usual)
  const tags = ['Cycles']
  const iso = (at: Date) => at.toISOString()

  app.get(
    '/cycles',
    {
      schema: {
        operationId: 'listCycles',
        summary: 'Billing cycles, the newest first',
        description: `The newest ${MOST_CYCLES}; what there is of an older one is read by its key.`,
        tags,
        response: { 200: Type.Array(CycleInfo) },
      },
    },
    ({ tenantId }) =>
      inTenant(reading(store), tenantId, async (tx) =>
        (await listCycles(tx, MOST_CYCLES)).map(({ statedAt: _, ...row }) => ({
          ...row,
          startsAt: iso(row.startsAt),
          endsAt: iso(row.endsAt),
          openedAt: iso(row.openedAt),
          closedAt: row.closedAt && iso(row.closedAt),
        })),
      ),
  )

  app.get(
    '/cycles/:key/changes',
    {
      config: { problems: ['cycle_not_found'] },
      schema: {
        operationId: 'listQueuedChanges',
        summary: 'Changes queued before the end of the cycle and still queued',
        tags,
        params: Key,
        querystring: Type.Object({
          ...After,
          kind: Type.Optional(Type.Unsafe<'unassign' | 'move'>({ type: 'string', enum: ['unassign', 'move'] })),
        }),
        response: { 200: strictObject({ changes: Type.Array(QueuedChangeInfo), nextAfterSimId: Next }) },
      },
    },
    ({ tenantId, params, query: { afterSimId = 0, limit = 200, kind } }) =>
      inTenant(reading(store), tenantId, async (tx) => {
        const unassign = kind === undefined ? null : kind === 'unassign'
        const changes = await changesOf(tx, params.key, { afterSimId, limit, unassign })
        return { changes, nextAfterSimId: nextAfter(changes, limit) }
      }),
  )

  app.get(
    '/cycles/:key/batches',
    {
      config: { problems: ['cycle_not_found', 'cycle_open'] },
      schema: {
        operationId: 'listMonthEndBatches',
        summary: 'What the month end has yet to begin, in batches of SIMs',
        tags,
        params: Key,
        querystring: Type.Object({
          kind: Type.Unsafe<'unassign' | 'move' | 'renew'>({ type: 'string', enum: ['unassign', 'move', 'renew'] }),
          afterSimId: After.afterSimId,
          size: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 500, description: 'SIMs of a batch' })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'At most so many' })),
        }),
        response: { 200: MonthEndBatches },
      },
    },
    ({ tenantId, params, query: { kind, afterSimId = 0, size = 500, limit = 20 } }) =>
      inTenant(reading(store), tenantId, (tx) => monthEndBatches(tx, params.key, kind, { afterSimId, size, limit })),
  )

  app.get(
    '/cycles/:key/progress',
    {
      config: { problems: ['cycle_not_found'] },
      schema: {
        operationId: 'readMonthEndProgress',
        summary: 'How far the month end of the cycle is',
        tags,
        params: Key,
        response: { 200: MonthEndCounts },
      },
    },
    ({ tenantId, params }) => inTenant(reading(store), tenantId, (tx) => monthEndCounts(tx, params.key)),
  )

  app.post(
    '/cycles/:key/changes/apply',
    {
      config: { problems: ['cycle_not_found', 'cycle_open', 'cycle_closed'] },
      schema: {
        operationId: 'applyQueuedChanges',
        summary: 'Open the tickets of queued changes, at most 500; once a SIM and cycle',
        tags,
        params: Key,
        body: ApplyChanges,
        response: { 200: ChangesOpened },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) => applyChanges(tx, request.params.key, request.body)),
  )

  app.post(
    '/cycles/:key/changes/retry',
    {
      config: { problems: ['cycle_not_found', 'cycle_open', 'cycle_closed'] },
      schema: {
        operationId: 'retryFailedChanges',
        summary: 'Open tickets again for what failed at the end of the cycle and is still queued, at most 500',
        tags,
        params: Key,
        body: RetryChanges,
        response: { 200: ChangesOpened },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) => retryChanges(tx, request.params.key, request.body)),
  )

  app.post(
    '/cycles/:key/suspensions/return',
    {
      config: { problems: ['cycle_not_found', 'cycle_open', 'cycle_closed'] },
      schema: {
        operationId: 'returnSuspendedSims',
        summary: 'Bring SIMs back whose suspension ends with the cycle and that no workflow brings back',
        tags,
        params: Key,
        body: ReturnSims,
        response: { 200: ChangesOpened },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, (tx) => openReturns(tx, request.params.key, request.body.simIds)),
  )

  app.get(
    '/cycles/:key/suspensions',
    {
      config: { problems: ['cycle_not_found'] },
      schema: {
        operationId: 'listSuspensionsToRenew',
        summary: 'What the watchdog suspended until the renewal',
        tags,
        params: Key,
        querystring: Type.Object({
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
      },
    },
    ({ tenantId, params, query: { afterSimId = 0, limit = 200, throughSimId } }) =>
      inTenant(reading(store), tenantId, async (tx) => {
        await cycleNamed(tx, params.key)
        const suspensions = await suspensionsToRenew(tx, params.key, afterSimId, limit, throughSimId)
        return { suspensions, nextAfterSimId: nextAfter(suspensions, limit) }
      }),
  )

  app.post(
    '/cycles/:key/renew',
    {
      config: { problems: ['cycle_not_found', 'cycle_open'] },
      schema: {
        operationId: 'renewCycle',
        summary: 'Open the cycle after this one',
        tags,
        params: Key,
        response: { 200: strictObject({ opened: Type.Boolean({ description: 'Whether this call opened it' }) }) },
      },
    },
    (request, reply) => {
      const { key } = request.params
      const prepare = () => prepareRenewal(store, request.tenantId, key)
      return idempotentInTenant(store, { request, reply }, (tx) => renewCycle(tx, key), { prepare })
    },
  )

  app.post(
    '/cycles/:key/close',
    {
      config: { problems: ['cycle_not_found', 'cycle_open'] },
      schema: {
        operationId: 'closeCycle',
        summary: 'Make the statement of a cycle that has ended; twice answers the same',
        description: 'Needs no body: the service counts the changes and the SIMs brought back.',
        tags,
        params: Key,
        body: CloseRequest,
        response: {
          200: strictObject({
            statement: Type.Boolean({ description: 'False where nothing was in the cycle' }),
            closedAt: Instant('When it was closed'),
          }),
        },
      },
    },
    (request, reply) => {
      const { key } = request.params
      const prepare = () => prepareClose(store, request.tenantId, key)
      return idempotentInTenant(store, { request, reply }, (tx) => closeCycle(tx, key), { prepare })
    },
  )
}
