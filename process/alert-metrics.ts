/**
 * Metrics of alerts, of their notices and of mails. Labels are rules, phases, kinds and reasons: never a SIM, an address or
 * a tenant.
 *
 * Decisions and sent mails are counted by their process: add up over workers. Waiting work is read from the
 * database, by one statement a scrape: workers report the same.
 */
import { Gauge, Histogram } from '@prometheus-io/client'
import type { Transport } from '../adapters/channels/mail/transport.ts'
import { LogLevel, labelOf } from '../domain/codes.ts'
import { alertFigures } from '../service/alerts/rows/alert-figures.ts'
import type { MailOptions } from '../service/channels/send-mails.ts'
import type { ReadRules } from '../service/rules/rules-in-force.ts'
import type { EvaluationOptions } from '../service/watchdog/evaluation-options.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'
import type { Metrics } from './metrics.ts'

const CLASSES = { delivered: 'accepted', later: 'later', refused: 'mail', gone: 'address', ours: 'ours' } as const

export interface AlertMetrics {
  readonly onDecided: NonNullable<EvaluationOptions['onDecided']>
  readonly onAccepted: NonNullable<MailOptions['onAccepted']>
  /** The same transport, with its attempts counted. */
  readonly counted: (transport: Pick<Transport, 'send'>) => Pick<Transport, 'send'>
}

export function alertMetrics(metrics: Metrics, store: Store, rules: ReadRules): AlertMetrics {
  const { counter } = metrics
  const registers = [metrics.registry]
  const alerts = counter('simherd_alerts_total', 'Alerts entering a phase, by rule.', 'rule', 'phase')
  const notices = counter('simherd_notices_total', 'Notices by kind: due, or withheld for a reason.', 'kind', 'reason')
  const errors = counter('simherd_rule_errors_total', 'Subjects for which a rule can no longer be decided.', 'rule')
  const delay = new Histogram({
    name: 'simherd_notice_delivery_seconds',
    help: 'Time from the decision to send a notice until the mail server accepted its mail.',
    labelNames: ['level'],
    // Critical notices leave within seconds, others wait up to an hour for more; mails are tried for three days.
    buckets: [1, 5, 15, 30, 60, 120, 300, 900, 3600, 14_400, 86_400, 259_200],
    registers,
  })
  const deliveries = counter(
    'simherd_mail_attempts_total',
    'Attempts to send a mail, by result: accepted, or the side at fault.',
    'class',
  )
  const up = new Gauge({
    name: 'simherd_smtp_up',
    help: '0 after a mail could not be handed to the server, until the next response; else 1.',
    registers,
  })
  up.set(1)
  registerGauges(metrics, store, rules)

  return {
    onDecided: (decided) => {
      for (const { rule, phase } of decided.alerts) alerts.inc({ rule, phase })
      for (const { kind, reason } of decided.notices) notices.inc({ kind, reason })
      for (const { rule } of decided.errors) errors.inc({ rule })
    },
    onAccepted: (waits) => {
      for (const { level, seconds } of waits) delay.observe({ level: labelOf(LogLevel, level) }, seconds)
    },
    counted: (transport) => ({
      send: async (mail) => {
        const attempt = await transport.send(mail)
        deliveries.inc({ class: CLASSES[attempt.outcome] })
        up.set(attempt.outcome === 'ours' ? 0 : 1)
        return attempt
      },
    }),
  }
}

/** Far below any scrape interval: gauges collected together share the rows read. */
const SHARED_MS = 1000

function registerGauges(metrics: Metrics, store: Store, rules: ReadRules): void {
  const read = () =>
    inPlatform(store, async (tx) => ({ now: tx.now, ...(await alertFigures(tx)), inForce: await rules(tx) }))
  type Figures = Awaited<ReturnType<typeof read>>
  let latest: { readonly at: number; readonly figures: Promise<Figures> } | undefined
  const figures = () => {
    const at = performance.now()
    if (latest === undefined || at - latest.at > SHARED_MS) latest = { at, figures: read() }
    return latest.figures
  }
  const gauge = (name: string, help: string, valueOf: (figures: Figures) => number) =>
    metrics.gauge(name, help, async () => valueOf(await figures()))
  gauge(
    'simherd_oldest_notice_seconds',
    'Waiting time of the longest overdue notice; 0: none is overdue.',
    ({ now, waitingSince }) => ageOf(waitingSince, now),
  )
  gauge('simherd_guard_holds_open', 'Holds of the guard waiting for a person.', ({ openHolds }) => openHolds)
  gauge(
    'simherd_addresses_refused',
    'Addresses of tenants marked bad: servers refuse mails for them.',
    ({ refusedAddresses }) => refusedAddresses,
  )
  gauge(
    'simherd_feed_age_seconds',
    'Time since the last usage of the tenant waiting longest, among tenants with Active SIMs.',
    ({ now, stalestFeed }) => ageOf(stalestFeed, now),
  )
  gauge('simherd_rules_version', 'Version of the rules in force; 0: none.', ({ inForce }) => inForce.version)
  gauge('simherd_rules_refused', '1 while this build refuses the rules loaded last; else 0.', ({ inForce }) =>
    inForce.refused === null ? 0 : 1,
  )
}

/** Seconds; 0 for null. */
const ageOf = (since: Date | null, now: Date): number =>
  since === null ? 0 : Math.max(0, now.getTime() - since.getTime()) / 1000
