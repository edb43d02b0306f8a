import { Type } from 'typebox'
import { Tariff, TariffMetadata, tariffMetadata } from '../../domain/tariffs/tariff.ts'
import { findTariff, listTariffs } from '../../service/tariffs/rows/tariffs.ts'
import { byId, declareRoutes } from '../http/declare-routes.ts'
import { TariffParams } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'
import type { RouteOptions } from '../options.ts'

const route = declareRoutes<RouteOptions>('Tariffs')

export const tariffRoutes = [
  route('GET', '/tariffs', {
    operationId: 'listTariffs',
    summary: 'All tariffs the tenant is offered, inactive ones too',
    description:
      "By id, without pages: the tenant's own and the platform's. Only active ones can be assigned. The " +
      "block of the tariff's type has its terms, the other two are null. Fees are in units of the currency, " +
      '1 GB is 10^9 bytes.',
    response: { 200: Type.Array(Tariff) },
    read: listTariffs,
  }),
  route('GET', '/tariffs/metadata', {
    operationId: 'getTariffMetadata',
    summary: 'Labels of tariff types',
    description: 'The codes of `type`, each with its label.',
    response: { 200: TariffMetadata },
    handle: async () => tariffMetadata,
  }),
  route('GET', '/tariffs/:id', {
    operationId: 'getTariff',
    summary: 'One tariff',
    description:
      'The block of its type has its terms, the other two are null. Fees are in units of the currency, 1 GB ' +
      'is 10^9 bytes.',
    problems: ['tariff_not_found'],
    params: TariffParams,
    response: { 200: Tariff },
    resource: byId('tariff'),
    read: async (tx, { params: { id } }) => mustBeFound(await findTariff(tx, id), 'tariff_not_found', `tariff ${id}`),
  }),
]
