/** What a rule may do about a subject: the weaker of its stage and the subject's mode. */
import { WatchdogMode } from '../../domain/codes.ts'
import type { Stage } from '../rule-file.ts'

/** What may be done for a rule. */
export interface Permission {
  /** Whether to write entries to the watchdog log, which the tenant reads. */
  readonly log: boolean
  readonly notify: boolean
  /** `would`: suspends nothing, but logs what would have been suspended. */
  readonly suspend: 'no' | 'would' | 'do'
}

const NOTHING: Permission = { log: false, notify: false, suspend: 'no' }
const STAGES: Readonly<Record<Stage, Permission>> = {
  off: NOTHING,
  shadow: { log: false, notify: false, suspend: 'no' },
  log: { log: true, notify: false, suspend: 'would' },
  notify: { log: true, notify: true, suspend: 'would' },
  enforce: { log: true, notify: true, suspend: 'do' },
}

/**
 * The permission of a rule in a stage, about a subject in a mode.
 *
 * @param mode for a SIM, the mode in force; for a tenant, which has none, Monitor
 */
export function permitted(stage: Stage, mode: WatchdogMode): Permission {
  if (mode === WatchdogMode.Disabled) return NOTHING
  const permission = STAGES[stage]
  return mode === WatchdogMode.Monitor && permission.suspend === 'do' ? { ...permission, suspend: 'would' } : permission
}
