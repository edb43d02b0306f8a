/** Alerts as rows, without an evaluation. */
import { type AlertState, isFiring, unseen } from '../../../rules/alerts/alert-state.ts'
import { saveAlerts } from '../../../service/alerts/rows/alerts.ts'
import { inTenant } from '../../../store/tenancy.ts'
import type { Harness, Tenant } from '../harness.ts'

export interface NewAlert {
  readonly rule: string
  readonly kind: 'sim' | 'pool' | 'tenant'
  readonly id: number
  /** Default: the running cycle. */
  readonly scope?: string
  /** Default: it fires. */
  readonly state?: Partial<AlertState>
}

/** Writes alerts of a tenant, in this order. */
export async function writeAlerts(
  { store, now }: Pick<Harness, 'store' | 'now'>,
  tenant: Pick<Tenant, 'id'>,
  alerts: readonly NewAlert[],
): Promise<void> {
  const rest = { ruleVersion: 1, explanation: [], lastSignal: null, lastSignalAt: null, evaluatedAt: new Date(now) }
  for (const { scope = '2026-11', state, ...alert } of alerts) {
    const full = { ...unseen(now), phase: 'firing' as const, ...state }
    await inTenant(store, tenant.id, (tx) =>
      saveAlerts(tx, [{ ...rest, ...alert, scope, state: full, firing: isFiring(full) }]),
    )
  }
}
