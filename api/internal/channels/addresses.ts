import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Address, NewAddress } from '../../../domain/channels/address.ts'
import { Id, IdResponse } from '../../../domain/schema.ts'
import { addAddress, clearAddress, confirmAddress, removeAddress } from '../../../service/channels/change-addresses.ts'
import { readAddresses } from '../../../service/channels/rows/addresses.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { takeNoBody } from '../../http/app.ts'
import { changeInTenant } from '../../http/change.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

const tags = ['Operation']
const AddressParams = Type.Object({ id: Id('Address') })

/** Addresses that a tenant's mails go to. */
export const addressRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.get(
    '/addresses',
    {
      schema: {
        operationId: 'listAddresses',
        summary: 'Addresses that mails go to, billing first',
        tags,
        response: { 200: Type.Array(Address) },
      },
    },
    ({ tenantId }) => inTenant(reading(store), tenantId, readAddresses),
  )

  app.post(
    '/addresses',
    {
      config: { problems: ['address_exists', 'address_limit'] },
      schema: {
        operationId: 'addAddress',
        summary: 'Send copies of mails, or escalations, to an address',
        description: 'The billing address is the tenant’s own: `PATCH /api/tenant/billing-email` changes it.',
        tags,
        body: NewAddress,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => addAddress(tx, request.body)),
  )

  app.post(
    '/addresses/:id/confirm',
    {
      config: { problems: ['address_not_found'] },
      schema: {
        operationId: 'confirmAddress',
        summary: 'Note that an address is right',
        description: 'A changed billing address and the one before both get mails until the new one is confirmed.',
        tags,
        params: AddressParams,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => confirmAddress(tx, request.params.id)),
  )

  app.post(
    '/addresses/:id/clear',
    {
      config: { problems: ['address_not_found'] },
      schema: {
        operationId: 'clearAddress',
        summary: 'Send mails again to an address for which no server took any',
        tags,
        params: AddressParams,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => clearAddress(tx, request.params.id)),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/addresses/:id',
      {
        config: { problems: ['address_not_found', 'address_in_use'] },
        schema: {
          operationId: 'removeAddress',
          summary: 'Send nothing more to an address',
          tags,
          params: AddressParams,
          response: { 200: IdResponse },
        },
      },
      (request) => changeInTenant(store, request, (tx) => removeAddress(tx, request.params.id)),
    )
  }
  await app.register(withoutBody)
}
