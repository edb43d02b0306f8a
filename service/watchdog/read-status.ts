/** Reads the status of a tenant. */
import { LogLevel } from '../../domain/codes.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { feedAt } from '../../domain/usage/feed.ts'
import type { TenantStatus } from '../../domain/watchdog/status.ts'
import { simsByStatus } from '../../store/counts.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { countByLevel } from '../alerts/read-causes.ts'
import type { ReadRules } from '../rules/rules-in-force.ts'
import { tenantSettings, usageIn } from '../usage/rows/cycles.ts'
import { readFeed } from '../usage/rows/feed.ts'
import { countFailures } from './rows/failures.ts'

export async function readStatus(tx: TenantTx, rules: ReadRules): Promise<TenantStatus> {
  const now = tx.now.getTime()
  const { billingCycle, enforcementEnabled } = await tenantSettings(tx)
  const cycle = cycleAt(billingCycle, now)
  const { usageBytes: bytes, voiceSeconds, smsCount } = await usageIn(tx, cycle.key)
  const { Unprovisioned = 0, Active = 0, Suspended = 0 } = await simsByStatus(tx)
  const feed = await readFeed(tx)
  const { staleSince } = feedAt(feed, cycle, now)
  const { levels, isWhole } = await countByLevel(tx, rules, cycle.key)
  return {
    cycle: { key: cycle.key, startsAt: instant(cycle.startsAt), endsAt: instant(cycle.endsAt) },
    usage: { bytes, voiceSeconds, smsCount },
    sims: { unprovisioned: Unprovisioned, active: Active, suspended: Suspended },
    feed: {
      receivedAt: feed.receivedAt?.toISOString() ?? null,
      newestAt: feed.newestAt?.toISOString() ?? null,
      staleSince: staleSince === null ? null : instant(staleSince),
    },
    enforcementEnabled,
    alerts: {
      critical: levels[LogLevel.Critical],
      warning: levels[LogLevel.Warning],
      info: levels[LogLevel.Info],
      isWhole,
    },
    ...(await countFailures(tx)),
  }
}

const instant = (at: number): string => new Date(at).toISOString()
