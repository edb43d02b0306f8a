/** All activities, over the service's REST interfaces. */
import { type ServiceAddress, serviceClients } from './client.ts'
import { enforcementActivities, type PickTargets } from './enforcement.ts'
import { monthEndActivities } from './month-end.ts'
import { simActivities } from './sims.ts'
import { ticketActivities } from './tickets.ts'

export interface ActivityOptions extends ServiceAddress {
  readonly pickTargets: PickTargets
}

export const createActivities = ({ pickTargets, ...address }: ActivityOptions) => {
  const clientOf = serviceClients(address)
  return {
    ...ticketActivities(clientOf),
    ...simActivities(clientOf),
    ...enforcementActivities(clientOf, pickTargets),
    ...monthEndActivities(clientOf),
  }
}
export type Activities = ReturnType<typeof createActivities>
