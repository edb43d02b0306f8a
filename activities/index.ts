/** The activities. They use the service's REST interfaces. */
import { type ServiceAddress, serviceClients } from './client.ts'
import { enforcementActivities, type PickFromPool } from './enforcement.ts'
import { monthEndActivities } from './month-end.ts'
import { provisionActivities } from './provision.ts'
import { batchActivities } from './provision-batches.ts'
import { suspensionActivities } from './suspensions.ts'
import { ticketActivities } from './tickets.ts'
import { undoActivities } from './undo.ts'

export interface ActivityOptions extends ServiceAddress {
  readonly pickFromPool: PickFromPool
}

export const createActivities = ({ pickFromPool, ...address }: ActivityOptions) => {
  const clientOf = serviceClients(address)
  return {
    ...ticketActivities(clientOf),
    ...provisionActivities(clientOf),
    ...batchActivities(clientOf),
    ...suspensionActivities(clientOf),
    ...enforcementActivities(clientOf, pickFromPool),
    ...monthEndActivities(clientOf),
    ...undoActivities(clientOf),
  }
}
export type Activities = ReturnType<typeof createActivities>
