/** Needs of a tenant for a person: one by one, and as a verdict in a sentence. Pure. */
import type { AlertCause } from '../../../domain/alerts/cause.ts'
import { LogLevel, labelOf, TicketStatus } from '../../../domain/codes.ts'
import type { Hold } from '../../../domain/enforcement/guard.ts'
import { count, counted } from '../../../domain/quantity.ts'
import type { TenantStatus } from '../../../domain/watchdog/status.ts'
import type { IconName } from '../../parts/icon.ts'

export interface Need {
  readonly icon: IconName
  readonly tone: 'critical' | 'warning' | 'quiet'
  readonly words: string
  readonly detail: string
  /** Of the page about it, below the tenant's. Null: there is none. */
  readonly path: string | null
  /** Null: not known. */
  readonly since: string | null
}

export type OpenHold = Pick<Hold, 'id' | 'what' | 'rule' | 'waiting' | 'allowed' | 'openedAt'>
type Cause = Omit<AlertCause, 'newest'> & {
  readonly newest: Pick<AlertCause['newest'], 'id' | 'message' | 'isLogged' | 'withheld'>
}
type Faults = Pick<
  TenantStatus,
  'failedTickets' | 'failedMails' | 'retryingWorkflows' | 'longestRetry' | 'feed' | 'enforcementEnabled'
>

export interface Situation {
  readonly holds: readonly OpenHold[]
  readonly causes: readonly Cause[]
  /** Null: not known. */
  readonly status: Faults | null
}

export interface Verdict extends Pick<Need, 'icon' | 'words'> {
  readonly tone: 'critical' | 'warning' | 'good'
}

/** The first of these decides: decisions that wait, critical alerts, faults of the service, warnings. */
export function verdictOf({ holds, causes, status }: Situation): Verdict {
  const [critical, warnings] = [openAt(causes, LogLevel.Critical), openAt(causes, LogLevel.Warning)]
  const fault = status === null ? undefined : faultsOf(status)[0]
  if (holds.length > 0) {
    const words = `${counted(holds.length, 'decision')} ${holds.length === 1 ? 'waits' : 'wait'} for you`
    return { tone: 'critical', icon: 'hold', words }
  }
  if (critical > 0) return { tone: 'critical', icon: 'critical', words: openWords(critical, 'critical alert') }
  if (fault !== undefined) return { tone: 'warning', icon: fault.icon, words: fault.words }
  if (warnings > 0)
    return { tone: 'warning', icon: 'warning', words: `Nothing is urgent, ${openWords(warnings, 'warning')}` }
  return { tone: 'good', icon: 'active', words: 'Nothing needs you' }
}

/** The most urgent first, causes without a need for a person last. */
export function needsOf({ holds, causes, status }: Situation): Need[] {
  const asking = causes.filter(asksForPerson).map(causeNeed)
  const others = causes.filter((cause) => !asksForPerson(cause)).map(causeNeed)
  return [
    ...holds.map(holdNeed),
    ...asking.filter(({ tone }) => tone === 'critical'),
    ...(status === null ? [] : faultsOf(status)),
    ...asking.filter(({ tone }) => tone !== 'critical'),
    ...others,
  ]
}

/** Acknowledged alerts, pending ones, and those of a rule in stage shadow need no person. */
const asksForPerson = (cause: Cause): boolean =>
  cause.level > LogLevel.Info && cause.firing > 0 && cause.acknowledged < cause.alerts && !isObserved(cause)

const isObserved = ({ newest }: Cause): boolean => !newest.isLogged && newest.withheld.includes('stage')

/** Alerts of a level that ask for a person. */
const openAt = (causes: readonly Cause[], of: LogLevel): number =>
  causes
    .filter((cause) => cause.level === of && asksForPerson(cause))
    .reduce((sum, { alerts, acknowledged }) => sum + alerts - acknowledged, 0)

const openWords = (many: number, one: string): string => `${counted(many, one)} ${many === 1 ? 'is' : 'are'} open`

const holdNeed = ({ id, what, rule, waiting, allowed, openedAt }: OpenHold): Need => ({
  icon: 'hold',
  tone: 'critical',
  words:
    what === 'suspensions' ? `${counted(waiting, 'suspension')} held` : `Mails of ${counted(waiting, 'alert')} held`,
  detail: `Rule ${rule} may act on ${count(allowed)} in an hour: a person decides about the others.`,
  path: `/decisions/${id}`,
  since: openedAt,
})

const TONES = {
  [LogLevel.Critical]: { tone: 'critical', icon: 'critical' },
  [LogLevel.Warning]: { tone: 'warning', icon: 'warning' },
  [LogLevel.Info]: { tone: 'quiet', icon: 'info' },
} as const

const KINDS: Readonly<Record<AlertCause['kind'], string>> = {
  sim: 'SIM',
  pool: 'pool',
  tag: 'tag',
  tenant: 'alert',
}

/** A single alert is named by its message, several by their rule and number. */
function causeNeed(cause: Cause): Need {
  const { rule, level, kind, alerts, acknowledged, firing, withheld, since, newest } = cause
  const isOne = alerts === 1
  const parts = [
    isOne || newest.message === null ? '' : `The newest: ${newest.message}`,
    of(acknowledged, alerts, 'acknowledged'),
    of(alerts - firing, alerts, 'not firing yet'),
    isObserved(cause) ? 'its rule only observes' : of(withheld, alerts, 'withheld in part'),
  ]
  const listed = `/alerts?${new URLSearchParams({ rule, level: String(level) }).toString()}`
  return {
    ...TONES[level],
    words: isOne && newest.message !== null ? newest.message : `${rule}: ${counted(alerts, KINDS[kind])}`,
    detail: parts.filter((part) => part !== '').join(' · '),
    path: isOne ? `/alerts/${newest.id}` : listed,
    since,
  }
}

/** `acknowledged`, or `3 acknowledged` if they are not all. */
const of = (some: number, all: number, words: string): string =>
  some === 0 ? '' : some === all ? words : `${count(some)} ${words}`

/** Faults of the service and of its surroundings. */
function faultsOf({ failedTickets, failedMails, retryingWorkflows, longestRetry, ...now }: Faults): Need[] {
  const { feed, enforcementEnabled } = now
  const fault = (icon: IconName, words: string, detail: string, more: Partial<Need> = {}): Need[] => [
    { icon, tone: 'warning', words, detail, path: null, since: null, ...more },
  ]
  return [
    ...(feed.staleSince === null
      ? []
      : fault('hold', 'Usage is late', 'Rules that read it wait, and suspend nobody.', { since: feed.staleSince })),
    ...(enforcementEnabled
      ? []
      : fault('hold', 'Enforcement is stopped', 'Rules suspend no SIM.', { path: '/enforcement' })),
    ...(failedTickets === 0
      ? []
      : fault('ticket', `${counted(failedTickets, 'ticket')} failed`, 'Within a day.', {
          path: `/tickets?status=${TicketStatus.Failed}`,
        })),
    ...(retryingWorkflows === 0
      ? []
      : fault(
          'workflow',
          `${counted(retryingWorkflows, 'workflow')} ${retryingWorkflows === 1 ? 'retries' : 'retry'}`,
          longestRetry?.detail ?? '',
          {
            path: '/workflows?trouble=true',
            since: longestRetry?.since ?? null,
          },
        )),
    ...(failedMails === 0
      ? []
      : fault('mail', `${counted(failedMails, 'mail')} given up`, 'Within 7 days: their readers do not have them.', {
          path: '/mails?status=failed',
        })),
  ]
}

/** `24 critical, 5 warnings`; `none` if no alert is open. */
export function levelsWords({ critical, warning, info, isWhole }: TenantStatus['alerts']): string {
  const parts = [
    ...(critical === 0 ? [] : [`${count(critical)} critical`]),
    ...(warning === 0 ? [] : [counted(warning, 'warning')]),
    ...(info === 0 ? [] : [`${count(info)} ${labelOf(LogLevel, LogLevel.Info).toLowerCase()}`]),
  ]
  return parts.length === 0 ? 'none' : `${parts.join(', ')}${isWhole ? '' : ' of the newest 5,000'}`
}
