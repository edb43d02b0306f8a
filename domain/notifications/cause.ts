/** Causes of notifications: notifications with one cause share a mail. Pure. */
import { LogLevel } from '../codes.ts'
import type { AlertNotification } from './notification.ts'

/** Whether a notice is about a hold of the guard, which waits for a person's decision. */
export const isHold = ({ key }: AlertNotification): boolean => key.startsWith('guard/')

/**
 * The cause: a rule, and the pool that it is about. A rule about SIMs or the tenant has one cause in the tenant.
 *
 * @returns null for notices that can wait for the grouped mail: alerts below Critical, ends, and notices of an ended
 * cycle
 */
export function causeOf(about: AlertNotification): string | null {
  const { kind, key, level, rule, subject, causePoolId, isOfEndedCycle = false } = about
  if (isHold(about)) return key
  const poolId = subject.kind === 'pool' ? subject.id : causePoolId
  const cause = poolId === undefined ? rule.name : `${rule.name}/pool/${poolId}`
  switch (kind) {
    case 'suspended':
    case 'broughtBack':
      return cause
    case 'graceStarted':
    case 'graceEnding':
    case 'escalated':
      return `${kind}/${cause}`
    case 'resolved':
      return null
    case 'fired':
      return level === LogLevel.Critical && !isOfEndedCycle ? cause : null
  }
}

/** The most subjects in the table of a mail. If there are more, an attached file has every subject. */
export const MOST_SUBJECTS = 100
/** Name of that file. */
export const NOTICES_FILE = 'notices.csv'
