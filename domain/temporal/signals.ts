/** What running workflows can be told: Temporal's signals, by type of workflow. */

/** The guard's. */
export const GUARD_SIGNALS = ['guardReleased', 'guardDiscarded'] as const
export type GuardSignal = (typeof GUARD_SIGNALS)[number]

/** Those that enforcement sends as its alerts change. */
export const ALERT_SIGNALS = ['overLimit', 'cleared', 'standDown'] as const
export type AlertSignal = (typeof ALERT_SIGNALS)[number]

/** Of suspend-on-overage. */
export const SUSPEND_SIGNALS = [...ALERT_SIGNALS, 'personActed', 'renewed', ...GUARD_SIGNALS] as const
export type SuspendSignal = (typeof SUSPEND_SIGNALS)[number]

/** Of enforce-pool. */
export const ENFORCE_POOL_SIGNALS = [...ALERT_SIGNALS, ...GUARD_SIGNALS] as const
export type EnforcePoolSignal = (typeof ENFORCE_POOL_SIGNALS)[number]

/** All, by type of workflow. */
export const WORKFLOW_SIGNALS: Readonly<Record<string, readonly string[]>> = {
  'suspend-on-overage': SUSPEND_SIGNALS,
  'enforce-pool': ENFORCE_POOL_SIGNALS,
}
