/** The commands about a tenant and its SIMs, with their options. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { LogLevel, type SimStatus } from '../../domain/codes.ts'
import { WEBHOOK_EVENTS } from '../../domain/notifications/event.ts'
import { AUDIT_SUBJECTS } from '../../domain/tenants/audit.ts'
import { group, numberOf, serviceCommand, type TenantFlags, tenantCommand, withSettings } from '../command.ts'
import { decimal, id, weekdays, wholeNumber } from '../option-values.ts'
import { OUTPUT } from '../output.ts'

const TENANT = '--tenant t0123456789ab'

const schedule = group(
  'schedule',
  "A tenant's month-end Schedule, which starts the month end when a billing cycle ends.",
  [
    tenantCommand('pause', 'Start no more month ends automatically.', [`schedule pause ${TENANT}`]).action(
      withSettings(async () => (await import('./schedule.ts')).pauseSchedule),
    ),
    tenantCommand('resume', 'Start month ends automatically again.', [`schedule resume ${TENANT}`]).action(
      withSettings(async () => (await import('./schedule.ts')).resumeSchedule),
    ),
  ],
)

const sims = group('sims', 'The SIMs of a tenant.', [
  tenantCommand(
    'unqueue',
    'Cancel the change that is queued for a SIM at the end of the billing cycle.',
    [`sims unqueue ${TENANT} --sim 7`],
    'Without a queued change nothing happens. If the month end has opened a ticket for it, cancel that ticket.',
  )
    .requiredOption('--sim <id>', 'the SIM, by its id', id)
    .action(withSettings(async () => (await import('./sims.ts')).unqueueSim)),
  tenantCommand(
    'import',
    'Import SIMs, new ones or those in use at the carrier. A repeated file adds only missing SIMs.',
    [`sims import ./delivery.csv ${TENANT} --dry-run`],
    `A bad row is rejected, the others are imported; the exit code is 1 if one was rejected. Columns: docs/import-export.md.
With status, poolId, tariffId, activatedAt and usage, a running fleet is imported without a call to the carrier:
docs/take-over.md.`,
  )
    .argument('<file>', 'CSV, NDJSON (.ndjson, .jsonl) or JSON')
    .option('--dry-run', 'only list the SIMs that would be created and rejected')
    .option('--ignore-unknown', 'pass over unknown columns and fields, and name them')
    .action(withSettings(async () => (await import('./sims.ts')).importSimFile)),
])

const exports = tenantCommand('export', 'Write a list as CSV.', [
  `export sims ${TENANT} --filter status=1 --out active.csv`,
  `export events ${TENANT} --filter date=2026-11-20`,
])
  .addArgument(
    new Argument('<what>', 'the list').choices([
      'sims',
      'pools',
      'tariffs',
      'tickets',
      'orders',
      'events',
      'watchdog-logs',
    ]),
  )
  .option('--out <file>', 'the file; default: standard output')
  .option(
    '--filter <name=value>',
    'filter of the list, as in the public interface; may be repeated',
    (filter: string, before: readonly string[]) => [...before, filter],
    [],
  )
  .option('--spreadsheet', 'for spreadsheet programs: ICCIDs and other identifiers stay text')
  .action(withSettings(async () => (await import('./export.ts')).exportList))

const SIM_STATUS = { unprovisioned: 0, active: 1, suspended: 2 } as const
const simStatus = (text: string): SimStatus => {
  const known = Object.entries(SIM_STATUS).find(([name, code]) => text.toLowerCase() === name || text === String(code))
  if (known === undefined) throw new InvalidArgumentError(`It must be one of ${Object.keys(SIM_STATUS).join(', ')}.`)
  return known[1]
}

const tickets = group('tickets', 'Tickets of many SIMs at once.', [
  tenantCommand(
    'bulk',
    'Open a ticket on each SIM of a file or a filter.',
    [
      `tickets bulk suspend ${TENANT} --filter-pool 7 --filter-status active --dry-run`,
      `tickets bulk activate ${TENANT} --file sims.csv --wait`,
    ],
    'SIMs that cannot have the ticket are refused one by one, and counted. At most 100,000 SIMs a run.',
  )
    .addArgument(
      new Argument('<type>', 'type of the tickets').choices([
        'activate',
        'suspend',
        'refresh',
        'send-sms',
        'provision',
        'unassign',
      ]),
    )
    .option('--file <csv>', 'CSV with a column iccid or simId')
    .option('--filter-status <status>', 'SIMs that are unprovisioned, active or suspended', simStatus)
    .option('--filter-pool <id>', 'SIMs in this pool', id)
    .option('--search <text>', 'SIMs with this in their ICCID, IMSI, MSISDN or tag')
    .option('--all', 'every SIM of the tenant')
    .option('--pool <id>', 'provision: into this pool', id)
    .option('--tariff <id>', 'provision: with this tariff', id)
    .option('--tag <text>', 'provision: with this tag')
    .option('--message <text>', 'send-sms: the text')
    .option('--dry-run', 'only list the SIMs that would get a ticket, and the refused ones with the reason')
    .option('--wait', 'wait until every ticket has ended; exit code 1 if one has failed')
    .action(withSettings(async () => (await import('./bulk-tickets.ts')).bulkTickets)),
])

const ofAlert = (name: string, description: string, example: string) =>
  tenantCommand(name, description, [`alerts ${name} ${example}`])
    .argument('<rule>', 'name of its rule')
    .option('--sim <id>', 'about this SIM', id)
    .option('--pool <id>', 'about this pool', id)
    .option('--tag <id>', 'about the SIMs of this tag together; without any of these options: about the tenant', id)

const alerts = group('alerts', 'Open alerts: list, show, acknowledge.', [
  ofAlert(
    'show',
    'Show an open alert: since when, its effects, and reasons for the missing ones.',
    `sim-overage ${TENANT} --sim 42`,
  )
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./alerts.ts')).showAlert)),
  ofAlert(
    'ack',
    'Acknowledge a firing alert: it is not escalated. Mails and suspensions continue.',
    `pool-overage ${TENANT} --pool 7`,
  ).action(withSettings(async () => (await import('./alerts.ts')).acknowledge)),
]).addCommand(
  tenantCommand('list', 'List open alerts, by rule and subject.', [`alerts ${TENANT} --rule sim-overage`])
    .option('--rule <name>', 'only of this rule')
    .option('--sim <id>', 'only about this SIM', id)
    .option('--pool <id>', 'only about this pool', id)
    .option('--tag <id>', 'only about the SIMs of this tag together', id)
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./alerts.ts')).listAlerts)),
  { isDefault: true },
)

const ofMail = (name: string, description: string) =>
  tenantCommand(name, description, [`mails ${name} '<0192f4c1-7d3a-7b52@simherd>' ${TENANT}`]).argument(
    '<mail>',
    'Message-ID of the mail, from "list"',
  )

const mails = group('mails', "A tenant's mails and their delivery.", [
  tenantCommand('list', 'List mails, newest first.', [`mails list ${TENANT} --status failed`])
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'sent', 'failed']))
    .option('--sim <id>', 'only with a notice about this SIM', id)
    .option('--pool <id>', 'only with a notice about this pool', id)
    .option('--alert <id>', 'only with a notice of this alert', id)
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./mails.ts')).listMails)),
  ofMail('show', 'Print a mail as sent: headers, attempts and text.')
    .option('--html', 'its HTML part in place of its text')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./mails.ts')).showMail)),
  ofMail('resend', 'Send a mail again, unchanged, under a new Message-ID.').action(
    withSettings(async () => (await import('./mails.ts')).resendMail),
  ),
  ofMail('retry', 'Retry a mail that was given up.').action(
    withSettings(async () => (await import('./mails.ts')).retryMail),
  ),
])

const silences = group('silences', 'Silences: they hold back mails for a while. The log and suspensions continue.', [
  tenantCommand('list', 'List silences that have not ended, newest first.', [`silences list ${TENANT}`])
    .option('--all', 'ended ones too')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./alerts.ts')).listSilences)),
  tenantCommand(
    'add',
    'Mail no alerts of a rule, a SIM, a pool or a tag for a while. If several are given, all must fit.',
    [`silences add ${TENANT} --pool 7 --for P2D --reason "Meters are replaced until Friday"`],
  )
    .option('--rule <name>', 'of this rule; * stands for any characters')
    .option('--sim <id>', 'about this SIM', id)
    .option('--pool <id>', 'about this pool and its SIMs', id)
    .option('--tag <tag>', 'about SIMs with this tag; * stands for any characters')
    .option('--for <duration>', 'how long, at most P90D: PT12H, P2D; or "cycle": to the end of the billing cycle')
    .option('--until <instant>', 'its end, in place of --for: 2026-11-30T18:00:00Z')
    .option('--from <time>', 'only from this time of the day on: 22:00; default: 00:00. Then it needs no end')
    .option('--to <time>', 'only up to this time of the day: 06:00; default: midnight')
    .option('--days <numbers>', 'only where it begins on these days, 1 (Monday) to 7 (Sunday): 1,2,3,4,5', weekdays)
    .option('--zone <name>', "the time zone of these times; default: the tenant's")
    .requiredOption('--reason <text>', 'the reason, for later readers')
    .action(withSettings(async () => (await import('./alerts.ts')).addSilence)),
  tenantCommand('end', 'End a silence now.', [`silences end 3 ${TENANT}`])
    .addArgument(numberOf('silence'))
    .action(withSettings(async () => (await import('./alerts.ts')).endSilence)),
])

const ofWebhook = (name: string, description: string, example = `3 ${TENANT}`) =>
  tenantCommand(name, description, [`webhooks ${name} ${example}`]).addArgument(numberOf('webhook'))

const webhooks = group(
  'webhooks',
  "URLs that get a tenant's events, signed by the rules of Standard Webhooks, and their deliveries.",
  [
    tenantCommand('list', 'List webhooks, newest first.', [`webhooks list ${TENANT}`])
      .addOption(OUTPUT)
      .action(withSettings(async () => (await import('./webhooks.ts')).listWebhooks)),
    tenantCommand('add', 'Send events to a URL, from now on. Its secret is shown only this once.', [
      `webhooks add https://ops.meadow.example/simherd ${TENANT} --events alert.fired alert.resolved`,
    ])
      .argument('<url>', 'the URL, https')
      .addOption(new Option('--events <types...>', 'only these; default: all').choices(WEBHOOK_EVENTS))
      .option('--description <text>', 'its purpose')
      .action(withSettings(async () => (await import('./webhooks.ts')).addWebhook)),
    ofWebhook(
      'rotate',
      'Give a webhook a new secret, which is shown only this once. The one before signs too for 24 hours.',
    ).action(withSettings(async () => (await import('./webhooks.ts')).rotateWebhook)),
    ofWebhook('test', 'Send a test, and print the result.').action(
      withSettings(async () => (await import('./webhooks.ts')).testWebhook),
    ),
    ofWebhook('deliveries', 'List deliveries to a webhook, newest first.', `3 ${TENANT} --status failed`)
      .addOption(new Option('--status <status>', 'only these').choices(['pending', 'delivered', 'failed']))
      .addOption(OUTPUT)
      .action(withSettings(async () => (await import('./webhooks.ts')).listDeliveries)),
    ofWebhook('replay', 'Send an event again, or at once if it waits, under the same webhook-id.', `3 1207 ${TENANT}`)
      .addArgument(numberOf('delivery', 'deliveries'))
      .action(withSettings(async () => (await import('./webhooks.ts')).replayDelivery)),
    ofWebhook('disable', 'Send nothing any more; waiting deliveries are given up.').action(
      withSettings(async () => (await import('./webhooks.ts')).disableWebhook),
    ),
    ofWebhook('enable', 'Send events again, from now on.').action(
      withSettings(async () => (await import('./webhooks.ts')).enableWebhook),
    ),
    ofWebhook('remove', 'Remove a webhook, with the log of its deliveries.').action(
      withSettings(async () => (await import('./webhooks.ts')).removeWebhook),
    ),
  ],
)

const ofAddress = (name: string, description: string) =>
  tenantCommand(name, description, [`addresses ${name} 3 ${TENANT}`]).addArgument(numberOf('address'))

const addresses = group('addresses', "The addresses of a tenant's mails.", [
  tenantCommand('list', 'List addresses, billing first.', [`addresses list ${TENANT}`])
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./addresses.ts')).listAddresses)),
  tenantCommand(
    'add',
    'Send copies of mails to an address, or escalations. The billing address is changed with the tenant.',
    [`addresses add field@meadow.example ${TENANT} --level Critical --rules 'sim-*'`],
  )
    .argument('<email>', 'the e-mail address')
    .option('--escalation', 'only alerts without an acknowledgement in time')
    .addOption(new Option('--level <level>', 'only mails of this level at least').choices(Object.keys(LogLevel)))
    .option('--rules <pattern>', 'only mails about such rules; * stands for any characters')
    .action(withSettings(async () => (await import('./addresses.ts')).addAddress)),
  ofAddress('confirm', 'Confirm a changed billing address: the one before gets no more mails.').action(
    withSettings(async () => (await import('./addresses.ts')).confirmAddress),
  ),
  ofAddress('clear', 'Send mails again to an address that no server accepted.').action(
    withSettings(async () => (await import('./addresses.ts')).clearAddress),
  ),
  ofAddress('remove', 'Send nothing more to an address.').action(
    withSettings(async () => (await import('./addresses.ts')).removeAddress),
  ),
])

const switched = (name: 'on' | 'off', description: string) =>
  tenantCommand(name, description, [`enforcement ${name} ${TENANT}`]).action(
    withSettings(async () => {
      const { changeEnforcement } = await import('./enforcement.ts')
      return (settings, flags: TenantFlags) => changeEnforcement(settings, { ...flags, enabled: name === 'on' })
    }),
  )
const decided = (name: 'release' | 'discard', description: string) =>
  tenantCommand(name, description, [`enforcement ${name} 3 ${TENANT}`])
    .addArgument(numberOf('hold', 'show'))
    .action(
      withSettings(async () => {
        const { decideHold } = await import('./enforcement.ts')
        return (settings, hold: number, flags: TenantFlags) => decideHold(settings, name, hold, flags)
      }),
    )

const enforcement = group(
  'enforcement',
  'Suspensions by the watchdog: the switch of a tenant, its guard, and the holds of the guard.',
  [
    tenantCommand('show', 'Show the switch, the limits of the guard, and its holds.', [`enforcement show ${TENANT}`])
      .addOption(OUTPUT)
      .action(withSettings(async () => (await import('./enforcement.ts')).showEnforcement)),
    switched('off', 'Suspend nothing more. Suspended SIMs stay so until their cycle is renewed.'),
    switched('on', 'Suspend again.'),
    tenantCommand('limit', 'Limit the suspensions and new alerts of one rule in an hour; the rest is held.', [
      `enforcement limit ${TENANT} --least 50 --pct 10`,
    ])
      .option('--least <n>', 'SIMs that may always be suspended', wholeNumber(0, 1_000_000))
      .option('--pct <n>', 'share of the SIMs, in percent, if that is more', decimal(0, 100))
      .option('--alerts-least <n>', 'subjects that may always get an alert', wholeNumber(0, 1_000_000))
      .option('--alerts-pct <n>', 'share of the SIMs or pools, in percent, if that is more', decimal(0, 100))
      .action(withSettings(async () => (await import('./enforcement.ts')).changeEnforcement)),
    decided('release', 'Let held suspensions or alerts go on; the count of the hour begins again.'),
    decided('discard', 'Drop held suspensions or alerts until the alert has cleared.'),
  ],
)

const tenants = group('tenants', 'Tenants, and their settings of notices.', [
  serviceCommand('list', 'List all tenants, oldest first.', ['tenants list --search meadow'])
    .option('--search <text>', 'only with this in their name, id or billing e-mail')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./tenants.ts')).listTenants)),
  serviceCommand('create', 'Create a tenant. Its first key is shown only this once.', [
    'tenants create "Meadow Metering" --email billing@meadow.example',
  ])
    .argument('<name>', 'its name, 2 to 100 characters')
    .requiredOption('--email <address>', 'the e-mail address of its billing contact')
    .option('--cycle <duration>', 'its billing cycle: P1M, or whole days, hours or minutes; default: BILLING_CYCLE')
    .option('--currency <code>', 'of its tariffs and charges: ISO 4217; default: CURRENCY')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./tenants.ts')).createTenant)),
  tenantCommand(
    'notices',
    "Show a tenant's settings of notices, or change them.",
    [`tenants notices ${TENANT} --time-zone Europe/Berlin --feed-every PT1H`],
    `Usage that is not received for one and a half times as long as --feed-every is reported; until it is back, alerts
about usage stay unchanged.`,
  )
    .option('--time-zone <name>', 'IANA name of the time zone of instants in mails: Europe/Berlin')
    .option('--feed-every <duration>', 'how often usage is received, PT1M to P31D')
    .option('--escalate-after <duration>', 'escalate a Critical alert that is not acknowledged, PT1M to P7D')
    .option('--no-escalate-after', 'escalate none')
    .addOption(
      new Option('--mails-from <level>', 'the least level of mailed alerts').choices(['info', 'warning', 'critical']),
    )
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./notices.ts')).tenantNotices)),
])

const cycles = group('cycles', "A tenant's billing cycles, and what they cost.", [
  tenantCommand('list', 'List billing cycles, newest first.', [`cycles list ${TENANT}`])
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./cycles.ts')).listCycles)),
  tenantCommand('plan', 'Show what the end of the running cycle would cost and change now. Changes nothing.', [
    `cycles plan ${TENANT}`,
  ])
    .option('--cycle <key>', 'of this cycle; default: the running one')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./cycles.ts')).planCycle)),
  tenantCommand('statement', 'Show the statement of a closed cycle: its sum, and its pools.', [
    `cycles statement 2026-10 ${TENANT}`,
  ])
    .argument('<cycle>', 'key of the cycle, from "list"')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./cycles.ts')).showStatement)),
])

const audit = serviceCommand(
  'audit',
  'Show who changed what, newest first: of a tenant, or of the platform itself.',
  [`audit ${TENANT} --subject pool --id 7`, 'audit --subject rules'],
  'Changes that the service makes by itself are in the event log ("npx simherd export events").',
)
  .option('--tenant <id>', 'the tenant; default: what concerns no tenant, such as operator keys and rules')
  .addOption(new Option('--subject <kind>', 'only changes of this kind of object').choices(AUDIT_SUBJECTS))
  .option('--id <id>', 'only changes of the object with this id')
  .option('--actor <actor>', 'only by this actor, such as key:6a34354728b4')
  .option('--date <date>', 'only of this day, such as 2026-11-20')
  .addOption(OUTPUT)
  .action(withSettings(async () => (await import('./tenants.ts')).listAudit))

/** In the order of the help. */
export const tenantCommands = [
  tenants,
  audit,
  cycles,
  schedule,
  sims,
  exports,
  tickets,
  alerts,
  mails,
  silences,
  webhooks,
  addresses,
  enforcement,
]
