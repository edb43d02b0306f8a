/** How far a rule may go on a subject: its stage and the subject's mode bound it from both sides, the weaker holds. */
import { WatchdogMode } from '../../domain/codes.ts'
import type { Stage } from '../rule-file.ts'

/** What may happen on behalf of a rule. */
export interface Permission {
  /** Entries in the watchdog log that its tenant reads. */
  readonly log: boolean
  readonly notify: boolean
  /** `would`: the log says what would have been suspended, and nothing is. */
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
 * What a rule of a stage may do on a subject in a mode.
 *
 * @param mode of a SIM the one in force; of a tenant, which has none, Monitor
 */
export function permitted(stage: Stage, mode: WatchdogMode): Permission {
  if (mode === WatchdogMode.Disabled) return NOTHING
  const permission = STAGES[stage]
  return mode === WatchdogMode.Monitor && permission.suspend === 'do' ? { ...permission, suspend: 'would' } : permission
}
