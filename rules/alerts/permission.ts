/** The permission of a rule on a subject: the weaker of its stage and the subject's mode. */
import { type LogLevel, WatchdogMode } from '../../domain/codes.ts'
import type { Stage } from '../rule-file.ts'

export interface Permission {
  /** Whether to write entries to the watchdog log, which the tenant reads. */
  readonly log: boolean
  readonly notify: boolean
  /** `would`: suspends nothing, but logs what would have been suspended. */
  readonly suspend: 'no' | 'would' | 'do'
  /** The limit on its effects; null if none. */
  readonly limit: 'stage' | 'mode' | null
  /** The tenant gets no mails of this level, and would otherwise. Absent: it gets the mails of `notify`. */
  readonly isUnsubscribed?: true
  /** The permission that the rule would have, reported to the operator: it is in shadow. Absent: it is not. */
  readonly shadow?: Permission
}

const NOTHING: Permission = { log: false, notify: false, suspend: 'no', limit: 'stage' }
const STAGES: Readonly<Record<Stage, Permission>> = {
  off: NOTHING,
  shadow: NOTHING,
  log: { log: true, notify: false, suspend: 'would', limit: 'stage' },
  notify: { log: true, notify: true, suspend: 'would', limit: 'stage' },
  enforce: { log: true, notify: true, suspend: 'do', limit: null },
}

/** The permission of a rule in a stage, by the mode in force for the subject; a tenant has none: Monitor. */
export function permitted(stage: Stage, mode: WatchdogMode): Permission {
  if (mode === WatchdogMode.Disabled) return { ...NOTHING, limit: 'mode' }
  if (stage === 'shadow') return { ...NOTHING, shadow: permitted('enforce', mode) }
  const permission = STAGES[stage]
  if (mode !== WatchdogMode.Monitor || permission.suspend !== 'do') return permission
  return { ...permission, suspend: 'would', limit: 'mode' }
}

/** The permission without mails, if the tenant receives none of that level. @param mailsFrom its least level */
export const asWanted = (permission: Permission, level: LogLevel, mailsFrom: LogLevel): Permission =>
  permission.shadow !== undefined
    ? { ...permission, shadow: asWanted(permission.shadow, level, mailsFrom) }
    : permission.notify && level < mailsFrom
      ? { ...permission, notify: false, isUnsubscribed: true }
      : permission
