import { Type } from 'typebox'
import { Tariff, TariffMetadata, tariffMetadata } from '../../domain/tariffs/tariff.ts'
import { findTariff, listTariffs } from '../../service/tariffs/rows/tariffs.ts'
import { byId, publicRoutes } from '../http/declare-routes.ts'
import { TariffParams } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'

const route = publicRoutes('Tariffs')

export const tariffRoutes = [
  route('GET', '/tariffs', {
    operationId: 'listTariffs',
    summary: 'Tariffs offered to the tenant, including inactive ones',
    description:
      "By id, without pages: the tenant's own tariffs and the platform's. Only active tariffs can be assigned. " +
      "The terms are in the block of the tariff's type; the other two blocks are null. Fees are in units of " +
      'the currency, 1 GB is 10^9 bytes.',
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
    summary: 'A tariff by id',
    description:
      'The terms are in the block of its type; other blocks are null. Fees in units of the currency, 1 GB: 10^9 bytes.',
    problems: ['tariff_not_found'],
    params: TariffParams,
    response: { 200: Tariff },
    resource: byId('tariff'),
    read: async (tx, { params: { id } }) => mustBeFound(await findTariff(tx, id), 'tariff_not_found', `tariff ${id}`),
  }),
]
