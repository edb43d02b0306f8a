/** `simherd alerts` and `simherd silences …`: lists open alerts and silences. */

import { idempotent } from '../../adapters/rest/client.ts'
import type { Alert } from '../../domain/alerts/alert.ts'
import type { NewSilence, Silence } from '../../domain/alerts/silence.ts'
import { inWords } from '../../domain/alerts/week-times.ts'
import { WITHHELD } from '../../domain/alerts/withheld.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { namedWords, subjectNamed } from '../../domain/watchdog/subject.ts'
import { forTenant, forTenantOn } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { moreLines, table } from '../table.ts'

/** Most lines of a list. */
const SHOWN = 50

interface MatchFlags extends TenantFlags, OutputFlags {
  readonly rule?: string
  readonly sim?: number
  readonly pool?: number
}

interface AlertFlags extends MatchFlags {
  readonly tag?: number
}

/** The subject that options name. */
const idsOf = ({ sim, pool, tag }: AlertFlags) => dropUndefined({ simId: sim, poolId: pool, tagId: tag })

/** Lists pending and firing alerts. */
export const listAlerts = forTenant(async (service, flags: AlertFlags) => {
  const { rule } = flags
  const query = { page: 1, pageSize: SHOWN, ...dropUndefined({ rule }), ...idsOf(flags) }
  const found = await responseOf(service.GET('/internal/alerts', { params: { query } }))
  printAnswer(flags, found, ({ data, pagination }) => alertLines(data, pagination.totalItems))
})

/** Shows one alert. @throws CommandFailure if it is neither pending nor firing */
export const showAlert = forTenantOn(async (service, rule: string, flags: AlertFlags) => {
  const query = { rule, ...idsOf(flags) }
  const { data } = await responseOf(service.GET('/internal/alerts', { params: { query } }))
  const named = subjectNamed(query)
  const alert = data.find(({ subject }) => subject.kind === named.kind)
  if (alert === undefined) {
    const list = `npx simherd alerts --tenant ${flags.tenant}`
    const words = `${rule} has no open alert about ${namedWords(named)}; "${list}" lists all`
    throw new CommandFailure(words, ExitCode.notFound)
  }
  printAnswer(flags, alert, linesOf)
})

/** Where to look, or what to do, about a reason that holds back a mail or a suspension. */
const HINTS: Readonly<Partial<Record<Alert['withheld'][number], string>>> = {
  unsubscribed: ': see "npx simherd tenants notices"',
  held: ': "npx simherd enforcement show" lists what waits',
}

function linesOf(alert: Alert): string[] {
  const { rule, ruleVersion, subject, phase, since, metSince, times, isLogged, isMailed, withheld } = alert
  const yesNo = (isTold: boolean) => (isTold ? 'yes' : 'no')
  return table(
    ['alert', `${rule} (rules of version ${ruleVersion})`],
    [
      ['about', aboutWords(subject)],
      ['phase', `${phase} since ${at(since)}`],
      ['conditions met', `since ${at(metSince)}`],
      ['times', times],
      ['in the log', yesNo(isLogged)],
      ['mailed', yesNo(isMailed)],
      ...withheld.map((why) => ['held back', `${WITHHELD[why].words}${HINTS[why] ?? ''}`]),
      ['acknowledged', alert.acknowledgedAt === null ? 'no' : `${at(alert.acknowledgedAt)} by ${alert.acknowledgedBy}`],
      ['enforcement', alert.lastSignal ?? 'none'],
      ...(alert.error === null ? [] : [['could not be decided', alert.error]]),
    ],
  )
}

/** Acknowledges an alert. */
export const acknowledge = forTenantOn(async (service, rule: string, flags: AlertFlags) => {
  const body = { rule, ...idsOf(flags) }
  await responseOf(service.POST('/internal/alerts/acknowledge', { body, params: idempotent() }))
  print(`${rule} is acknowledged: it is not escalated until it ends and fires again`)
})

/** A tag with its id: nothing else lists it. */
function aboutWords({ kind, id, label }: Alert['subject']): string {
  if (kind === 'tenant') return 'the tenant'
  return kind === 'tag' ? `tag ${id} (${label})` : `${kind} ${label ?? id}`
}

function alertLines(alerts: readonly Alert[], total: number): string[] {
  if (total === 0) return ['nothing is pending or firing']
  return [
    ...table(
      ['rule', 'about', 'phase', 'since', 'times', 'log', 'mail', 'enforcement'],
      alerts.map(
        ({ rule, subject, phase, metSince, times, isLogged, isMailed, silencedUntil, withheld, lastSignal }) => [
          rule,
          aboutWords(subject),
          phase,
          at(metSince),
          times,
          isLogged ? 'yes' : 'no',
          isMailed
            ? 'yes'
            : silencedUntil === null
              ? `no${withheld.map((why) => `, ${why}`).join('')}`
              : `silenced until ${at(silencedUntil)}`,
          lastSignal ?? 'none',
        ],
      ),
    ),
    ...moreLines(total, alerts.length),
  ]
}

/** Lists silences that have not ended; with `all`, ended ones too. */
export const listSilences = forTenant(async (service, flags: TenantFlags & OutputFlags & { all?: boolean }) => {
  const query = { page: 1, pageSize: SHOWN, ...(flags.all !== true && { open: true }) }
  const found = await responseOf(service.GET('/internal/silences', { params: { query } }))
  printAnswer(flags, found, ({ data, pagination }) => silenceLines(data, pagination.totalItems))
})

function silenceLines(silences: readonly Silence[], total: number): string[] {
  if (total === 0) return ['nothing is silenced']
  return [
    ...table(
      ['silence', 'of', 'until', 'by', 'reason'],
      silences.map((silence) => [
        silence.id,
        [
          matched(silence),
          ...(silence.times === null ? [] : [`at ${inWords(silence.times)} (${silence.timeZone})`]),
        ].join(' '),
        untilOf(silence),
        silence.createdBy ?? 'the service',
        silence.reason,
      ]),
    ),
    ...moreLines(total, silences.length),
  ]
}

const untilOf = ({ endsAt, endedAt }: Silence): string =>
  endedAt === null ? (endsAt === null ? 'no end' : at(endsAt)) : `ended ${at(endedAt)}`

const matched = ({ rule, simId, poolId, tag, level }: Silence): string =>
  Object.entries({ rule, sim: simId, pool: poolId, tag, level })
    .flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
    .join(', ')

interface SilenceFlags extends MatchFlags {
  readonly tag?: string
  readonly for?: string
  readonly until?: string
  readonly from?: string
  readonly to?: string
  readonly days?: number[]
  readonly zone?: string
  readonly reason: string
}

const MIDNIGHT = '00:00'

/** Begins a silence. */
export const addSilence = forTenant(async (service, flags: SilenceFlags) => {
  const { rule, sim, pool, tag, for: lasts, until, from, to, days, zone, reason } = flags
  const isTimed = (from ?? to ?? days) !== undefined
  const times = isTimed ? [{ from: from ?? MIDNIGHT, to: to ?? MIDNIGHT, ...dropUndefined({ days }) }] : undefined
  const about = { rule, simId: sim, poolId: pool, tag, lasts, endsAt: until, times, timeZone: zone }
  const body: NewSilence = { reason, ...dropUndefined(about) }
  const { id } = await responseOf(service.POST('/internal/silences', { body, params: idempotent() }))
  print(
    `silence ${id} has begun: the log and suspensions go on; "npx simherd silences end ${id} --tenant ${flags.tenant}" ends it`,
  )
})

/** Ends a silence. */
export const endSilence = forTenantOn(async (service, id: number) => {
  const options = { params: { path: { id }, ...idempotent() } }
  await responseOf(service.POST('/internal/silences/{id}/end', options))
  print(`silence ${id} has ended: what still fires is mailed`)
})
