import { Type } from 'typebox'
import { IdResponse } from '../../../domain/schema.ts'
import { NewTariff, Tariff, TariffOffer } from '../../../domain/tariffs/tariff.ts'
import { createTariff } from '../../../service/tariffs/create-tariff.ts'
import { ownTariffs } from '../../../service/tariffs/rows/tariffs.ts'
import { setTariffActive } from '../../../service/tariffs/set-tariff-active.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { TariffParams } from '../../http/params.ts'
import { TERMS_OF_A_TARIFF } from '../../openapi/together.ts'

const route = internalRoutes('Tariffs', { tenant: 'or-platform' })

export const internalTariffRoutes = [
  route('GET', '/tariffs', {
    operationId: 'listOwnTariffs',
    summary: 'Tariffs of an owner, including inactive ones',
    description: 'By id, without pages. X-Tenant-Id names the owner: a tenant, or @platform.',
    response: { 200: Type.Array(Tariff) },
    read: ownTariffs,
    readPlatform: ownTariffs,
  }),
  route('POST', '/tariffs', {
    operationId: 'createTariff',
    summary: 'Create a tariff of a tenant, or with X-Tenant-Id @platform one for every tenant',
    problems: ['tariff_units_disagree'],
    also: { body: TERMS_OF_A_TARIFF },
    body: NewTariff,
    response: { 201: IdResponse },
    change: (tx, { body }) => createTariff(tx, body),
    changePlatform: (tx, { body }) => createTariff(tx, body),
  }),
  route('PATCH', '/tariffs/:id', {
    operationId: 'offerTariff',
    summary: 'Withdraw a tariff from new assignments, or offer it again',
    description: 'SIMs and pools with this tariff keep it. X-Tenant-Id names the owner: a tenant, or @platform.',
    problems: ['tariff_not_found'],
    params: TariffParams,
    body: TariffOffer,
    response: { 200: IdResponse },
    change: (tx, { params, body }) => setTariffActive(tx, { ...params, ...body }),
    changePlatform: (tx, { params, body }) => setTariffActive(tx, { ...params, ...body }),
  }),
]
