/** `simherd addresses …`: addresses for a tenant's mails. */

import { idempotent } from '../../adapters/rest/client.ts'
import type { Address, NewAddress } from '../../domain/channels/address.ts'
import { LogLevel, labelOf } from '../../domain/codes.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { forTenant, forTenantOn } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { table } from '../table.ts'

/** Lists addresses, billing first. */
export const listAddresses = forTenant(async (service, flags: TenantFlags & OutputFlags) => {
  printAnswer(flags, await responseOf(service.GET('/internal/addresses')), (addresses) =>
    addresses.length === 0
      ? ['there is no address: mails wait for one']
      : table(['address', 'kind', 'e-mail', 'level', 'rules', 'state'], addresses.map(rowOf)),
  )
})

const rowOf = (address: Address) => [
  address.id ?? '',
  address.kind,
  address.email,
  address.level === null ? 'all' : `${labelOf(LogLevel, address.level)} at least`,
  address.rules ?? 'all',
  stateOf(address),
]

function stateOf({ kind, badSince, confirmedAt }: Address): string {
  if (badSince !== null) return `bad since ${at(badSince)}`
  return kind === 'billing' && confirmedAt === null ? 'not confirmed' : 'in use'
}

interface AddFlags extends TenantFlags {
  readonly escalation?: boolean
  readonly level?: keyof typeof LogLevel
  readonly rules?: string
}

/** Adds an address that gets copies, or escalations. */
export const addAddress = forTenantOn(async (service, email: string, flags: AddFlags) => {
  const { escalation = false, level, rules } = flags
  const body: NewAddress = {
    kind: escalation ? 'escalation' : 'copy',
    email,
    ...dropUndefined({ level: level && LogLevel[level], rules }),
  }
  const { id } = await responseOf(service.POST('/internal/addresses', { body, params: idempotent() }))
  print(`address ${id} gets ${escalation ? 'escalations' : 'copies'} from now on`)
})

/** Notes that an address is right. */
export const confirmAddress = forTenantOn(async (service, id: number) => {
  const params = { path: { id }, ...idempotent() }
  await responseOf(service.POST('/internal/addresses/{id}/confirm', { params }))
  print(`address ${id} is confirmed; a billing address before it gets nothing any more`)
})

/** Sends mails again to an address that no server accepted. */
export const clearAddress = forTenantOn(async (service, id: number) => {
  const params = { path: { id }, ...idempotent() }
  await responseOf(service.POST('/internal/addresses/{id}/clear', { params }))
  print(`address ${id} gets mails again`)
})

/** Removes an address. */
export const removeAddress = forTenantOn(async (service, id: number) => {
  await responseOf(service.DELETE('/internal/addresses/{id}', { params: { path: { id } } }))
  print(`address ${id} gets nothing any more`)
})
