import { Type } from 'typebox'
import { Address, NewAddress } from '../../../domain/channels/address.ts'
import { Id, IdResponse } from '../../../domain/schema.ts'
import { addAddress, clearAddress, confirmAddress, removeAddress } from '../../../service/channels/change-addresses.ts'
import { readAddresses } from '../../../service/channels/rows/addresses.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'

const AddressParams = Type.Object({ id: Id('Address') })

const route = internalRoutes('Operation')

/** Addresses that a tenant's mails go to. */
export const addressRoutes = [
  route('GET', '/addresses', {
    operationId: 'listAddresses',
    isOpenTo: 'read',
    summary: 'Addresses for mails, billing first',
    response: { 200: Type.Array(Address) },
    read: readAddresses,
  }),
  route('POST', '/addresses', {
    operationId: 'addAddress',
    isOpenTo: 'admin',
    summary: 'Send copies of mails, or escalations, to an address',
    description: '`PATCH /api/tenant/billing-email` changes the billing address.',
    problems: ['address_exists', 'address_limit'],
    body: NewAddress,
    response: { 200: IdResponse },
    change: (tx, { body }) => addAddress(tx, body),
  }),
  route('POST', '/addresses/:id/confirm', {
    operationId: 'confirmAddress',
    summary: 'Confirm an address',
    description:
      'After a change of the billing address, mails also go to the previous one until the new one is confirmed.',
    problems: ['address_not_found'],
    params: AddressParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => confirmAddress(tx, params.id),
  }),
  route('POST', '/addresses/:id/clear', {
    operationId: 'clearAddress',
    summary: 'Resume mails to an address that servers refused',
    problems: ['address_not_found'],
    params: AddressParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => clearAddress(tx, params.id),
  }),
  route('DELETE', '/addresses/:id', {
    operationId: 'removeAddress',
    isOpenTo: 'admin',
    summary: 'Remove an address',
    problems: ['address_not_found', 'address_in_use'],
    bodies: takeNoBody,
    params: AddressParams,
    response: { 200: IdResponse },
    change: (tx, { params }) => removeAddress(tx, params.id),
  }),
]
