import { TenantStatus } from '../../domain/watchdog/status.ts'
import { readStatus } from '../../service/watchdog/read-status.ts'
import { internalRoutes } from '../http/declare-routes.ts'

const route = internalRoutes('Operation')

export const statusRoutes = [
  route('GET', '/status', {
    operationId: 'readStatus',
    summary: "What needs a person, and a tenant's SIMs, usage and alerts in figures",
    description: 'Bounded in cost: failures are counted among the newest, and alerts up to 5,000.',
    isWatched: true,
    response: { 200: TenantStatus },
    read: (tx, _, { rules }) => readStatus(tx, rules),
  }),
]
