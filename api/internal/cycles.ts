import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { ChangeFailed, CloseAsk, CycleInfo, PoolChange } from '../../domain/month-end.ts'
import { Id, Instant, nullable, strictObject } from '../../domain/schema.ts'
import { closeCycle } from '../../operations/close-cycle.ts'
import { changesOf, cycleNamed, noteChangeFailed, renewCycle } from '../../operations/month-end.ts'
import { planMonthEnd } from '../../operations/plan-month-end.ts'
import { listCycles, suspensionsToRenew } from '../../store/month-end.ts'
import { statementLines } from '../../store/statements.ts'
import { inTenant } from '../../store/tenancy.ts'
import { onceInTenant } from '../once.ts'
import type { InternalOptions } from '../server.ts'

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

const money = (what: string) => Type.Integer({ description: `${what}, in micro-units of the currency` })
const StatementLine = strictObject({
  kind: Type.Unsafe<'sim' | 'pool' | 'empty'>({ type: 'string', enum: ['sim', 'pool', 'empty'] }),
  poolId: Type.Integer({ minimum: 0, description: 'Pool; 0: outside pools' }),
  poolName: Type.String(),
  simId: nullable(Id('SIM')),
  iccid: nullable(Type.String()),
  tariffId: nullable(Id('Governing tariff')),
  bytes: Type.Integer(),
  voiceSeconds: Type.Integer(),
  smsCount: Type.Integer(),
  limitBytes: Type.Integer(),
  overageBytes: Type.Integer(),
  feeMicro: money('Monthly fee, or cost of the bucket'),
  smsMicro: money('Messages'),
  voiceMicro: money('Voice'),
  overageMicro: money('Overage'),
})

export const cycleRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { ground }) => {
  const tags = ['Cycles']
  const iso = (at: Date) => at.toISOString()

  app.get(
    '/cycles',
    {
      schema: {
        operationId: 'listCycles',
        summary: 'Billing cycles, the newest first',
        tags,
        response: { 200: Type.Array(CycleInfo) },
      },
    },
    ({ tenantId }) =>
      inTenant(ground, tenantId, async (tx) =>
        (await listCycles(tx, MOST_CYCLES)).map((row) => ({
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
        response: { 200: strictObject({ changes: Type.Array(PoolChange), nextAfterSimId: Next }) },
      },
    },
    ({ tenantId, params, query: { afterSimId = 0, limit = 200, kind } }) =>
      inTenant(ground, tenantId, async (tx) => {
        const unassign = kind === undefined ? null : kind === 'unassign'
        const changes = await changesOf(tx, params.key, { afterSimId, limit, unassign })
        return { changes, nextAfterSimId: nextAfter(changes, limit) }
      }),
  )

  app.post(
    '/cycles/:key/change-failed',
    {
      config: { problems: ['cycle_not_found', 'sim_not_found'] },
      schema: {
        operationId: 'noteChangeFailed',
        summary: 'Log a queued change that failed; it stays queued',
        tags,
        params: Key,
        body: ChangeFailed,
        response: { 200: strictObject({}) },
      },
    },
    (request, reply) =>
      onceInTenant(ground, { request, reply }, async (tx) => {
        await noteChangeFailed(tx, request.params.key, request.body)
        return {}
      }),
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
        querystring: Type.Object(After),
        response: {
          200: strictObject({
            suspensions: Type.Array(strictObject({ simId: Id('SIM'), workflowId: nullable(Type.String()) })),
            nextAfterSimId: Next,
          }),
        },
      },
    },
    ({ tenantId, params, query: { afterSimId = 0, limit = 200 } }) =>
      inTenant(ground, tenantId, async (tx) => {
        await cycleNamed(tx, params.key)
        const suspensions = await suspensionsToRenew(tx, params.key, afterSimId, limit)
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
    (request, reply) => onceInTenant(ground, { request, reply }, (tx) => renewCycle(tx, request.params.key)),
  )

  app.post(
    '/cycles/:key/close',
    {
      config: { problems: ['cycle_not_found', 'cycle_open'] },
      schema: {
        operationId: 'closeCycle',
        summary: 'Make the statement of a cycle that has ended; twice answers the same',
        tags,
        params: Key,
        body: CloseAsk,
        response: {
          200: strictObject({
            statement: Type.Boolean({ description: 'False where nothing was in the cycle' }),
            closedAt: Instant('When it was closed'),
          }),
        },
      },
    },
    (request, reply) =>
      onceInTenant(ground, { request, reply }, (tx) => closeCycle(tx, request.params.key, request.body)),
  )

  app.get(
    '/cycles/:key/statement',
    {
      config: { problems: ['cycle_not_found'] },
      schema: {
        operationId: 'readStatement',
        summary: 'The statement of a closed cycle',
        tags,
        params: Key,
        response: {
          200: strictObject({
            cycle: Type.String(),
            totalMicro: money('Sum of all lines'),
            lines: Type.Array(StatementLine),
          }),
        },
      },
    },
    ({ tenantId, params }) =>
      inTenant(ground, tenantId, async (tx) => {
        await cycleNamed(tx, params.key)
        const lines = await statementLines(tx, params.key)
        const totalMicro = lines.reduce((sum, l) => sum + l.feeMicro + l.smsMicro + l.voiceMicro + l.overageMicro, 0)
        return { cycle: params.key, totalMicro, lines }
      }),
  )

  app.get(
    '/cycles/:key/plan',
    {
      config: { problems: ['cycle_not_found'] },
      schema: {
        operationId: 'planMonthEnd',
        summary: 'What the month end would do, without doing it',
        tags,
        params: Key,
        response: { 200: Type.Any({ description: 'Changes, capacities and charges as they would be' }) },
      },
    },
    ({ tenantId, params }) => inTenant(ground, tenantId, (tx) => planMonthEnd(tx, params.key)),
  )
}
