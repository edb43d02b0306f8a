import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdAnswer } from '../../domain/schema.ts'
import { NewTariff } from '../../domain/tariff.ts'
import { createTariff } from '../../operations/create-tariff.ts'
import { onceInPlatform, onceInTenant } from '../once.ts'
import type { InternalOptions } from '../server.ts'

export const tariffRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { ground }) => {
  app.post(
    '/tariffs',
    {
      config: { tenant: 'optional', problems: ['tariff_units_disagree'] },
      schema: {
        operationId: 'createTariff',
        summary: 'Make a tariff; without X-Tenant-Id one that every tenant is offered',
        tags: ['Tariffs'],
        body: NewTariff,
        response: { 201: IdAnswer },
      },
    },
    (request, reply) =>
      request.tenantId === ''
        ? onceInPlatform(ground, { request, reply }, (tx) => createTariff(tx, request.body), { status: 201 })
        : onceInTenant(ground, { request, reply }, (tx) => createTariff(tx, request.body), { status: 201 }),
  )
}
