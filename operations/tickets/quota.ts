/**
 * How many tickets a tenant may have open: the carrier is everybody's, and one tenant's tickets must not take it all.
 *
 * What persons ask for counts, and nothing else: the watchdog, workflows and month ends open one at a time on a SIM and
 * must not stand behind a tenant's flood; bulk runs are the operator's.
 */
import { TicketType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { countedTickets, type TicketRecord } from '../../store/tickets/tickets.ts'

/** Open tickets: Pending and Processing. */
export interface TicketQuota {
  readonly perSim: number
  /** Of those of a SIM. */
  readonly smsPerSim: number
  readonly perTenant: number
}

/**
 * A ticket more must be within the quotas. Call with the SIM locked: its own quota holds to the ticket; a tenant's may be
 * passed by as many as are asked for at the same moment.
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
const exceeded = (what: string, when: string) => new ServiceError('quota_exceeded', `${what}: come again ${when}.`)
