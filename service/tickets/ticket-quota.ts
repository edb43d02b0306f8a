/**
 * How many tickets a tenant may have open. All tenants share the carrier, and one must not use all of it.
 *
 * Only tickets that persons ask for count. The watchdog, workflows and month ends open one at a time on a SIM, and must
 * not wait behind a tenant's flood. Bulk runs belong to the operator.
 */
import { TicketType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { countedTickets, type TicketRecord } from './rows/tickets.ts'

/** Numbers of open tickets: Pending and Processing. */
export interface TicketQuota {
  readonly perSim: number
  /** How many of a SIM's open tickets may be SMS. */
  readonly smsPerSim: number
  readonly perTenant: number
}

/**
 * Checks that one more ticket is within the quotas. Call with the SIM locked: then the quota of the SIM is exact. The
 * quota of the tenant is not: concurrent requests may exceed it by their number.
 *
 * @param before the SIM's open tickets
 * @throws ServiceError `quota_exceeded`
 */
export async function mustFitQuota(
  tx: TenantTx,
  quota: TicketQuota,
  { simId, type }: { readonly simId: number; readonly type: TicketType },
  before: readonly TicketRecord[],
): Promise<void> {
  const counted = before.filter(({ counts }) => counts)
  const sms = counted.filter((ticket) => ticket.type === TicketType['Send SMS'])
  if (type === TicketType['Send SMS'] && sms.length >= quota.smsPerSim) {
    throw exceeded(`SIM ${simId} has ${sms.length} open SMS tickets, and ${quota.smsPerSim} is the quota of a SIM`, ONE)
  }
  if (counted.length >= quota.perSim) {
    throw exceeded(`SIM ${simId} has ${counted.length} open tickets, and ${quota.perSim} is the quota of a SIM`, ONE)
  }
  const open = await countedTickets(tx, quota.perTenant)
  if (open < quota.perTenant) return
  throw exceeded(`This tenant has ${open} open tickets, and ${quota.perTenant} is the quota of a tenant`, SOME)
}

const ONE = 'when one has ended, or cancel one'
const SOME = 'when some have ended, or cancel some'
const exceeded = (what: string, when: string) => new ServiceError('quota_exceeded', `${what}. Try again ${when}.`)
