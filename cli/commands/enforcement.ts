/** `simherd enforcement …`: how much a tenant's watchdog may suspend, and what its guard holds. */

import { idempotent } from '../../adapters/rest/client.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { EnforcementSettings, Hold } from '../../domain/enforcement/guard.ts'
import { counted } from '../../domain/quantity.ts'
import type { Settings } from '../../process/settings.ts'
import { askService, forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { moreLines, table } from '../table.ts'

/** Most holds shown. More than a person decides at once. */
const SHOWN = 50

/** Shows the switch, the guard's limits, and the holds that wait for a decision, newest first. */
export const showEnforcement = forTenant(async (service, flags: TenantFlags & OutputFlags) => {
  const options = await responseOf(service.GET('/internal/tenant/enforcement'))
  const holds = await responseOf(
    service.GET('/internal/enforcement/holds', { params: { query: { state: 'held', page: 1, pageSize: SHOWN } } }),
  )
  printAnswer(flags, { ...options, holds }, () => [
    ...settingsLines(options),
    ...holdLines(holds.data, holds.pagination.totalItems, flags),
  ])
})

interface ChangeFlags extends TenantFlags {
  /** Whether the watchdog may suspend. Default: unchanged. */
  readonly enabled?: boolean
  /** Suspensions by one rule in an hour, always allowed. */
  readonly least?: number
  /** Allowed share of the SIMs, in percent, if it is more than `least`. */
  readonly pct?: number
  /** Subjects that one rule may begin to report in an hour. */
  readonly alertsLeast?: number
  /** Share of the SIMs or pools, in percent, if it is more than `alertsLeast`. */
  readonly alertsPct?: number
}

/**
 * Changes the switch, the guard's limits, or both.
 *
 * @throws CommandFailure if there is nothing to change
 */
export async function changeEnforcement(settings: Settings, flags: ChangeFlags): Promise<void> {
  const { tenant: tenantId, enabled, least, pct, alertsLeast, alertsPct } = flags
  const body = dropUndefined({
    enabled,
    guardLeast: least,
    guardPct: pct,
    alertGuardLeast: alertsLeast,
    alertGuardPct: alertsPct,
  })
  if (Object.keys(body).length === 0) {
    throw new CommandFailure('got no limit, expected --least, --pct, --alerts-least or --alerts-pct', ExitCode.usage)
  }
  const changed = await askService({ settings, tenantId }, (service) =>
    responseOf(service.PATCH('/internal/tenant/enforcement', { body })),
  )
  for (const line of settingsLines(changed)) print(line)
}

const DECISIONS = {
  release: 'go on',
  discard: 'are left alone until their alert has cleared',
}

export function decideHold(
  settings: Settings,
  decision: keyof typeof DECISIONS,
  holdId: number,
  { tenant: tenantId }: TenantFlags,
): Promise<void> {
  return askService({ settings, tenantId }, async (service) => {
    const options = { params: { path: { id: holdId }, ...idempotent() } }
    const answer = await responseOf(service.POST(`/internal/enforcement/holds/{id}/${decision}`, options))
    print(`hold ${holdId} is ${answer.state}: ${counted(answer.decided, 'subject')} ${DECISIONS[decision]}`)
  })
}

function settingsLines(all: EnforcementSettings): string[] {
  const { enabled, guardLeast, guardPct, alertGuardLeast, alertGuardPct } = all
  return [
    enabled ? 'enforcement is on' : 'enforcement is off: nothing is suspended, rules only say what they would do',
    `guard: one rule suspends at most ${counted(guardLeast, 'SIM')} an hour, or ${guardPct} % of its pool (else of the tenant) where that is more; the rest is held`,
    `guard: one rule tells of at most ${counted(alertGuardLeast, 'new subject')} an hour, or ${alertGuardPct} % of the tenant's where that is more; the rest is held`,
  ]
}

function holdLines(holds: readonly Hold[], total: number, { tenant }: TenantFlags): string[] {
  if (total === 0) return ['nothing is held']
  return [
    '',
    `held (${total}); "npx simherd enforcement release <hold> --tenant ${tenant}" or "discard" decides`,
    ...table(
      ['hold', 'what', 'rule', 'pool', 'cycle', 'since', 'waiting', 'allowed'],
      holds.map(({ id, what, rule, poolId, cycle, openedAt, waiting, allowed }) => [
        `${id}`,
        what,
        rule,
        poolId === null ? 'none' : `${poolId}`,
        cycle,
        at(openedAt),
        waiting,
        allowed,
      ]),
    ).map((line) => `  ${line}`),
    ...moreLines(total, holds.length, 'older').map((line) => `  ${line}`),
  ]
}
