/** `simherd cycles …`: a tenant's billing cycles, what the running one will cost, and statements. */
import type { CycleInfo } from '../../domain/month-end/month-end.ts'
import { amount, counted, money } from '../../domain/quantity.ts'
import type { Settings } from '../../process/settings.ts'
import { askService, forTenant, forTenantOn } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { table } from '../table.ts'
import { PLAN_TIMEOUT_MS, showPlan } from '../workflows/plan.ts'

/** Lists billing cycles, the newest first. */
export const listCycles = forTenant(async (service, flags: TenantFlags & OutputFlags) => {
  printAnswer(flags, await responseOf(service.GET('/internal/cycles')), (cycles) =>
    cycles.length === 0
      ? ['no billing cycle is open yet: a worker opens the first within seconds']
      : table(['cycle', 'from', 'to', 'state', 'usage records'], cycles.map(rowOf)),
  )
})

const rowOf = ({ key, startsAt, endsAt, closedAt, recordsAccepted }: CycleInfo) => [
  key,
  at(startsAt),
  at(endsAt),
  closedAt === null ? 'open' : `closed ${at(closedAt)}`,
  recordsAccepted,
]

/** Shows what the end of a cycle would cost and change now. Changes nothing. */
export const planCycle = (
  settings: Settings,
  { tenant: tenantId, cycle, ...flags }: TenantFlags & OutputFlags & { readonly cycle?: string },
): Promise<void> =>
  askService({ settings, tenantId, timeoutMs: PLAN_TIMEOUT_MS }, (service) => showPlan(service, cycle, flags))

/** Lines of a statement that are shown: pools come first. */
const SHOWN = 200

/** Shows the statement of a closed cycle: its sum, and the lines of pools. */
export const showStatement = forTenantOn(async (service, key: string, flags: TenantFlags & OutputFlags) => {
  const params = { path: { key }, query: { afterLine: 0, limit: SHOWN } }
  const statement = await responseOf(service.GET('/internal/cycles/{key}/statement', { params }))
  printAnswer(flags, statement, ({ currency, totalMicro, lineCount, lines }) => {
    const pools = lines.filter(({ kind }) => kind === 'pool')
    const rows = pools.map(({ poolName, bytes, overageBytes, feeMicro, smsMicro, voiceMicro, overageMicro }) => [
      poolName,
      bytes,
      overageBytes,
      amount(overageMicro, currency),
      amount(feeMicro + smsMicro + voiceMicro + overageMicro, currency),
    ])
    return [
      `statement of ${key}: ${money(totalMicro, currency)} in ${counted(lineCount, 'line')}`,
      ...(rows.length === 0 ? [] : table(['pool', 'bytes used', 'over', 'of it overage', 'total'], rows)),
      'All lines as CSV: GET /internal/cycles/{key}/statement.csv',
    ]
  })
})
