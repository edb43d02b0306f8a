/** Temporal signals that running workflows accept, by type of workflow. */

export const GUARD_SIGNALS = ['guardReleased', 'guardDiscarded'] as const
export type GuardSignal = (typeof GUARD_SIGNALS)[number]

/** Signals that enforcement sends when alerts change. */
export const ALERT_SIGNALS = ['overLimit', 'cleared', 'standDown'] as const
export type AlertSignal = (typeof ALERT_SIGNALS)[number]

/** In place of an alert's last signal: an order to suspend that waits until usage is received. */
export const DELAYED = 'delayed'

/** Whether the last signal of an alert is an order to suspend, be it one that waits for usage. */
export const isOrdered = (signal: string | null): boolean => signal === 'overLimit' || signal === DELAYED

export const SUSPEND_SIGNALS = [...ALERT_SIGNALS, 'personActed', 'renewed', ...GUARD_SIGNALS] as const
export type SuspendSignal = (typeof SUSPEND_SIGNALS)[number]

export const ENFORCE_POOL_SIGNALS = [...ALERT_SIGNALS, ...GUARD_SIGNALS] as const
export type EnforcePoolSignal = (typeof ENFORCE_POOL_SIGNALS)[number]

export const WORKFLOW_SIGNALS: Readonly<Record<string, readonly string[]>> = {
  'suspend-on-overage': SUSPEND_SIGNALS,
  'enforce-pool': ENFORCE_POOL_SIGNALS,
}
