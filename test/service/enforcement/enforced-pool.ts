/** A pool whose SIMs a rule may suspend, and alerts as an evaluation leaves them. */
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import { unseen } from '../../../rules/alerts/alert-state.ts'
import { saveAlerts } from '../../../service/alerts/rows/alerts.ts'
import { poolEnforcement, simEnforcement } from '../../../service/enforcement/read-enforcement.ts'
import type { TestStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'

export const NOW = Date.parse('2026-11-10T12:00:00Z')
export const THIS_CYCLE = '2026-11'
export const RULE = 'pool-overage'

export const byWatchdog = (workflowId: string, rule = RULE): Cause => ({
  by: 'watchdog',
  rule,
  cycle: THIS_CYCLE,
  until: 'renewal',
  workflowId,
})

/** A Dynamic pool in Enforce mode, of Active SIMs, each with an allowance of 100 bytes. */
export async function aPoolOf(store: TestStore, count: number) {
  store.now = NOW
  const harness = await aHarness(store)
  const poolId = await harness.aPool(TariffType['Dynamic Pool'], 100, { watchdogMode: WatchdogMode.Enforce })
  const sims = await harness.activeSims(count, { poolId })
  return {
    ...harness,
    poolId,
    sims,
    use: (...bytes: number[]) => harness.record(bytes.map((bytesUp, i) => harness.usage(sims[i] ?? 0, { bytesUp }))),
    sim: (simId: number, rule: string | null = RULE, cycle = THIS_CYCLE) =>
      harness.asTenant((tx) => simEnforcement(tx, simId, cycle, rule)),
    pool: (cycle = THIS_CYCLE) => harness.asTenant((tx) => poolEnforcement(tx, poolId, cycle, RULE)),
    runOf: (simId: number, cycle = THIS_CYCLE) => suspendOnOverageId(harness.tenantId, simId, cycle),
    suspend: (simId: number, cause: Cause) => harness.complete({ simId, type: TicketType.Suspend, cause }),
    /** Writes an alert as an evaluation leaves it that fires and has sent no signal. @param also other values */
    fire: ({ kind, id }: Subject, also: Partial<Parameters<typeof saveAlerts>[1][number]> = {}) => {
      const [state, evaluatedAt] = [unseen(store.now), new Date(store.now++)]
      const alert = { rule: RULE, scope: THIS_CYCLE, firing: true, state, ruleVersion: 1, evaluatedAt, explanation: [] }
      return harness.asTenant((tx) =>
        saveAlerts(tx, [{ kind, id, ...alert, lastSignal: null, lastSignalAt: null, ...also }]),
      )
    },
  }
}
