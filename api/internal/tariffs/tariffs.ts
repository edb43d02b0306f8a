import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdResponse } from '../../../domain/schema.ts'
import { NewTariff, TariffOffer } from '../../../domain/tariffs/tariff.ts'
import { createTariff } from '../../../service/tariffs/create-tariff.ts'
import { setTariffActive } from '../../../service/tariffs/set-tariff-active.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { changeInTenant, onBehalfOf } from '../../http/change.ts'
import { idempotentInPlatform, idempotentInTenant } from '../../http/idempotency.ts'
import { TariffParams } from '../../http/params.ts'
import { TERMS_OF_A_TARIFF } from '../../openapi/together.ts'
import type { InternalOptions } from '../../options.ts'

export const tariffRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.post(
    '/tariffs',
    {
      config: {
        tenant: 'or-platform',
        problems: ['tariff_units_disagree'],
        also: { body: TERMS_OF_A_TARIFF },
      },
      schema: {
        operationId: 'createTariff',
        summary: 'Make a tariff of a tenant; one that every tenant is offered, where X-Tenant-Id is @platform',
        tags: ['Tariffs'],
        body: NewTariff,
        response: { 201: IdResponse },
      },
    },
    (request, reply) =>
      request.tenantId === ''
        ? idempotentInPlatform(store, { request, reply }, (tx) => createTariff(tx, request.body), { status: 201 })
        : idempotentInTenant(store, { request, reply }, (tx) => createTariff(tx, request.body), { status: 201 }),
  )

  app.patch(
    '/tariffs/:id',
    {
      config: { tenant: 'or-platform', problems: ['tariff_not_found'] },
      schema: {
        operationId: 'offerTariff',
        summary: 'Withdraw a tariff from new assignments, or offer it again',
        description: 'SIMs and pools that have it keep it. X-Tenant-Id names the tenant whose own it is, or @platform.',
        tags: ['Tariffs'],
        params: TariffParams,
        body: TariffOffer,
        response: { 200: IdResponse },
      },
    },
    (request) => {
      const offer = { id: request.params.id, isActive: request.body.isActive }
      return request.tenantId === ''
        ? inPlatform(onBehalfOf(store, request), (tx) => setTariffActive(tx, offer))
        : changeInTenant(store, request, (tx) => setTariffActive(tx, offer))
    },
  )
}
