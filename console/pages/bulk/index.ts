import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceError } from '../../../domain/errors.ts'
import type { Doors } from '../../calls.ts'
import { actRoutes, answerForm, doneNotice, OBJECT_PATHS, type ObjectParams, Sent } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantCalls, type TenantParams } from '../../tenant.ts'
import { cancel, readRun } from './acts.ts'
import { RunsQuery, runsPage } from './list.ts'
import { runWords, TYPES } from './marks.ts'
import { NewQuery, newPage, startRun } from './new.ts'
import { bulkPage, RunQuery } from './show.ts'

const STARTED = { name: 'start', done: 'It has begun: this page shows its progress.' }

/** The pages of bulk runs. @param clock epoch milliseconds */
export function bulkRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: RunsQuery }>(
    '/t/:tenant/bulk',
    { schema: { querystring: RunsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await runsPage(calls, tenant.id, request.query, clock())
      return sendPage(reply, { title: 'Bulk runs', main, tenant, current: 'tickets' })
    },
  )
  app.get<{ Params: TenantParams; Querystring: NewQuery }>(
    '/t/:tenant/bulk/new',
    { schema: { querystring: NewQuery } },
    async (request, reply) => sendNew(request, reply, await callsFor(request, doors), { key: randomUUID() }),
  )
  app.post<{ Params: TenantParams; Querystring: NewQuery; Body: Sent }>(
    '/t/:tenant/bulk/new',
    { schema: { querystring: NewQuery, body: Sent } },
    async (request, reply) => {
      const to = await callsFor(request, doors)
      const start = async () => {
        const id = await startRun(to.calls, request.query, request.body)
        return reply.redirect(`/t/${to.tenant.id}/bulk/${id}?done=${STARTED.name}`, 303)
      }
      return answerForm(request, reply, start, (typed, fault) => sendNew(request, reply, to, typed, fault))
    },
  )
  app.get<{ Params: ObjectParams<string>; Querystring: RunQuery }>(
    '/t/:tenant/bulk/:id',
    { schema: { params: OBJECT_PATHS.bulk, querystring: RunQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const run = await readRun(calls, request.params.id)
      const said = doneNotice(request, [STARTED, cancel])
      const main = await bulkPage(calls, tenant.id, run, { query: request.query, now: clock(), said })
      return sendPage(reply, { title: runWords(run.type, run.total), main, tenant, current: 'tickets' })
    },
  )
  actRoutes(app, doors, clock, cancel)
}

async function sendNew(
  { query, url: action }: FastifyRequest<{ Querystring: NewQuery }>,
  reply: FastifyReply,
  { calls, tenant }: TenantCalls,
  typed: Sent,
  fault?: ServiceError,
) {
  const main = await newPage(calls, tenant.id, { query, action, typed, ...(fault && { fault }) })
  return sendPage(reply, { title: TYPES[query.type].label, main, tenant, current: 'sims', isLive: false })
}
