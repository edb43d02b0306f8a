import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { ServiceError } from '../../domain/errors.ts'
import { Tariff, TariffMetadata, tariffMetadata } from '../../domain/tariffs/tariff.ts'
import { findTariff, listTariffs } from '../../service/tariffs/rows/tariffs.ts'
import { inTenant, reading } from '../../store/tenancy.ts'
import { versionOf } from '../../store/versions.ts'
import { answersVersion } from '../http/etag.ts'
import { TariffParams } from '../http/params.ts'
import type { RouteOptions } from '../options.ts'

export const tariffRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['Tariffs']

  app.get(
    '/tariffs',
    {
      schema: {
        operationId: 'listTariffs',
        summary: 'All tariffs the tenant is offered, inactive ones too',
        description:
          "By id, without pages: the tenant's own and the platform's. Only active ones can be assigned. The " +
          "block of the tariff's type has its terms, the other two are null. Fees are in units of the currency, " +
          '1 GB is 10^9 bytes.',
        tags,
        response: { 200: Type.Array(Tariff) },
      },
    },
    ({ tenantId }) => inTenant(reading(store), tenantId, listTariffs),
  )

  app.get(
    '/tariffs/metadata',
    {
      schema: {
        operationId: 'getTariffMetadata',
        summary: 'Labels of tariff types',
        description: 'The codes of `type`, each with its label.',
        tags,
        response: { 200: TariffMetadata },
      },
    },
    async () => tariffMetadata,
  )

  app.get(
    '/tariffs/:id',
    {
      config: { problems: ['tariff_not_found'], versioned: true },
      schema: {
        operationId: 'getTariff',
        summary: 'One tariff',
        description:
          'The block of its type has its terms, the other two are null. Fees are in units of the currency, 1 GB ' +
          'is 10^9 bytes.',
        tags,
        params: TariffParams,
        response: { 200: Tariff },
      },
    },
    ({ tenantId, params }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        answersVersion(reply, await versionOf(tx, { kind: 'tariff', id: params.id }))
        const tariff = await findTariff(tx, params.id)
        if (tariff === undefined) throw new ServiceError('tariff_not_found', `There is no tariff ${params.id}.`)
        return tariff
      }),
  )
}
