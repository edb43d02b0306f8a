/** `simherd workflows …`: the commands and their options. */
import { type Command, Option } from 'commander'
import { WORKFLOW_TYPES } from '../../domain/temporal/ids.ts'
import { WORKFLOW_SIGNALS } from '../../domain/temporal/signals.ts'
import { SUSPENDED_UNTIL } from '../../domain/temporal/suspend-on-overage.ts'
import { STATUSES } from '../../domain/workflows/workflow.ts'
import { group, serviceCommand, tenantCommand, withSettings } from '../command.ts'
import { id, idempotencyKey, wholeNumber } from '../option-values.ts'
import { OUTPUT } from '../output.ts'

const TENANT = '--tenant t0123456789ab'
const PROVISION = 'provision-and-activate:t0123456789ab:7'
const SUSPEND = 'suspend-on-overage:t0123456789ab:7:2026-11'
const MONTH_END = 'month-end-reprovision:t0123456789ab:2026-10'

/** `workflows start <name>`. @param examples without `workflows start <name>` */
const startOf = (name: string, description: string, examples: readonly string[], notes: string): Command =>
  tenantCommand(
    name,
    description,
    examples.map((example) => `workflows start ${name} ${example}`),
    notes,
  )
    .option('--wait', 'follow it until it ends; exit code 1 if it failed')
    .addOption(OUTPUT)

const start = group(
  'start',
  'Start a workflow. One that is running, or may not run again, is reported and left alone.',
  [
    startOf(
      'provision-and-activate',
      'Take a SIM from Unprovisioned to Active; undone if a step fails for good.',
      [`${TENANT} --iccid 8999990000000000015 --pool 1 --wait`],
      'Refused with the reason if the SIM is provisioned elsewhere, or was suspended: exit code 4.',
    )
      .option('--sim <id>', 'the SIM, by its id', id)
      .option('--iccid <iccid>', 'the SIM, by its ICCID')
      .option('--pool <id>', 'into this pool; default: none', id)
      .option('--tariff <id>', 'with this tariff; default: none', id)
      .option('--tag <text>', 'with this tag')
      .action(withSettings(async () => (await import('./start.ts')).startProvision)),
    startOf(
      'provision-in-bulk',
      'Take many SIMs from Unprovisioned to Active.',
      [`./sims.csv ${TENANT} --pool 1 --parallel 100 --wait`],
      'At most 100,000 SIMs. --wait prints the numbers of done, failed and remaining SIMs, the rate, and the expected end.',
    )
      .argument('<file>', 'CSV with a column iccid or simId, and optional poolId, tariffId, tag')
      .option('--pool <id>', 'pool of rows without one', id)
      .option('--tariff <id>', 'tariff of rows without one', id)
      .option('--parallel <n>', 'SIMs under way at once, 1 to 200 (50)', wholeNumber(1, 200))
      .option('--skip-invalid', 'leave out invalid rows; otherwise one refuses the file')
      .action(withSettings(async () => (await import('./start-bulk.ts')).startBulk)),
    startOf(
      'suspend-on-overage',
      'Suspend a SIM that is over its limit, until its cycle is renewed; once a cycle.',
      [`${TENANT} --sim 7 --grace PT2H --until renewal`],
      'Before it acts it reads the SIM again: still over, mode Enforce, not exempt. --wait stays until the renewal.',
    )
      .requiredOption('--sim <id>', 'the SIM, by its id', id)
      .option('--grace <duration>', 'how long it may stay over, such as PT2H; default: not at all')
      .addOption(
        new Option('--until <when>', 'comes back with the renewal, or only by a person').choices(SUSPENDED_UNTIL),
      )
      .option('--rule <name>', 'the rule that it is done for')
      .option('--cycle <key>', 'of this billing cycle; default: the running one')
      .action(withSettings(async () => (await import('./start.ts')).startSuspend)),
    startOf(
      'month-end',
      'End a billing cycle: queued changes, returning SIMs, the statement; once a cycle.',
      [`${TENANT} --dry-run`, `${TENANT} --cycle 2026-10 --wait`],
      'It starts automatically when a cycle ends ("npx simherd schedule"). A cycle that has not ended is refused: exit code 4.',
    )
      .option('--cycle <key>', 'this cycle; default: the last that has ended, or, as a dry run, the running one')
      .option('--dry-run', 'only show its effects')
      .action(withSettings(async () => (await import('./start.ts')).startMonthEnd)),
    startOf(
      'undo-suspensions',
      'Bring back all SIMs that one rule has suspended since a time.',
      [`${TENANT} --rule pool-overage --since 2026-11-20T00:00:00Z`],
      `The watchdog suspends none of these SIMs again in this cycle. Suspensions by persons stay. A pool that stays over
picks others: remove the rule, or switch enforcement off, before.`,
    )
      .requiredOption('--rule <name>', 'the rule')
      .requiredOption('--since <instant>', 'its suspensions from then on, such as 2026-11-20T00:00:00Z')
      .option('--until <instant>', 'and before; default: now')
      .action(withSettings(async () => (await import('./start.ts')).startUndo)),
  ],
)

const ofWorkflow = (name: string, description: string, examples: readonly string[], notes = ''): Command =>
  serviceCommand(
    name,
    description,
    examples.map((example) => `workflows ${name} ${example}`),
    notes,
  )
    .argument('<id>', 'id of the workflow')
    .option('--tenant <id>', 'the tenant; default: the one in the id')

/** As {@link ofWorkflow}. Requests with the same key take effect once, even across commands. */
const withKey: typeof ofWorkflow = (...words) =>
  ofWorkflow(...words).option(
    '--key <text>',
    'requests with the same key take effect once; default: a new key, printed if no answer came',
    idempotencyKey,
  )

const list = tenantCommand(
  'list',
  'List workflows of a tenant, newest first.',
  [`workflows list ${TENANT} --type suspend-on-overage --state suspended`, `workflows list ${TENANT} --sim 7`],
  'Filters add up. A Temporal server forgets ended workflows after its retention.',
)
  .addOption(new Option('--type <type>', 'of this type').choices([...WORKFLOW_TYPES]))
  .addOption(new Option('--status <status>', 'with this status').choices([...STATUSES]))
  .option('--state <word>', 'with this word as their state: suspended, grace, compensated, …')
  .option('--sim <id>', 'of this SIM', id)
  .option('--pool <id>', 'of this pool', id)
  .option('--cycle <key>', 'of this billing cycle')
  .option('--page <n>', 'page, from 1', wholeNumber(1, 1_000_000), 1)
  .option('--page-size <n>', 'most of a page, 1 to 100', wholeNumber(1, 100), 50)
  .addOption(OUTPUT)
  .action(withSettings(async () => (await import('./list.ts')).printWorkflows))

const troubles = tenantCommand(
  'troubles',
  'List activities that fail again and again, the longest retried first.',
  [`workflows troubles ${TENANT}`],
  'Their workflows are running. They continue when the cause of the last failure is gone; "show" has the rest.',
)
  .option('--page <n>', 'page of 50, from 1', wholeNumber(1, 1_000_000), 1)
  .addOption(OUTPUT)
  .action(withSettings(async () => (await import('./troubles.ts')).printTroubles))

const show = ofWorkflow(
  'show',
  'Show a workflow: state, steps with their tickets, waits with their reasons and ends, failing activities.',
  [PROVISION],
  'Without a worker the steps are not known; that is noted. Times are in UTC.',
)
  .addOption(OUTPUT)
  .action(withSettings(async () => (await import('./show.ts')).showWorkflow))

const watch = ofWorkflow(
  'watch',
  'Follow a workflow until it ends, then show it. Exit code 1 if it failed.',
  [MONTH_END],
  `On a terminal one line is kept up to date; a pipe gets a line for each new state, and every ten seconds.
With -o json progress goes to standard error. Ctrl-C ends the watching, not the workflow.`,
)
  .addOption(OUTPUT)
  .action(withSettings(async () => (await import('./watch.ts')).watchWorkflow))

/** The signals of each type of workflow, a line each. */
const signalLines = Object.entries(WORKFLOW_SIGNALS)
  .map(([type, names]) => `  ${type.padEnd(20)} ${names.join(', ')}`)
  .join('\n')

const signal = ofWorkflow(
  'signal',
  'Send a running workflow a signal.',
  [`${SUSPEND} cleared`],
  `The service sends signals for changes in it. By hand this is for changes outside it.\n${signalLines}`,
)
  .argument('<name>', 'the signal')
  .action(withSettings(async () => (await import('./steer.ts')).signalWorkflow))

const update = withKey(
  'update',
  'Ask a running workflow for a change. It decides by its state, and answers.',
  [`${SUSPEND} resume`, `${SUSPEND} extendGrace --by PT2H`],
  `Of suspend-on-overage:
  resume          bring the SIM back, and not again in this cycle
  keepSuspended   leave it suspended after the renewal; --until renewal undoes that
  extendGrace     give it longer: --by PT2H, or --until 2026-11-21T18:00:00Z
Of month-end-reprovision:
  retryFailedChanges   retry the failed queued changes, until the cycle is closed
A change that does not fit its state is refused with the reason: exit code 4.`,
)
  .argument('<name>', 'the update')
  .option('--by <duration>', 'extendGrace: longer by this, such as PT2H')
  .option('--until <when>', 'extendGrace: until this instant; keepSuspended: manual (default) or renewal')
  .action(withSettings(async () => (await import('./steer.ts')).updateWorkflow))

const cancel = withKey(
  'cancel',
  'Ask a running workflow to end in order: a provisioning is undone, a suspended SIM stays suspended.',
  [`${PROVISION} --wait`],
)
  .option('--wait', 'until it has ended; exit code 1 if it ended otherwise')
  .action(withSettings(async () => (await import('./steer.ts')).cancelWorkflow))

const retry = withKey(
  'retry',
  'Start a failed, undone, cancelled, terminated or timed out workflow again, with the same input.',
  [`${MONTH_END} --wait`],
  `Steps that the run before has done are found done. One that runs, or has ended well, is refused: exit code 4. So is a
batch of a month end (start the month end again), and a provision-in-bulk that is through its list (start a new one for
the failed SIMs).`,
)
  .option('--wait', 'follow it until it ends; exit code 1 if it failed again')
  .action(withSettings(async () => (await import('./steer.ts')).retryWorkflow))

export const workflows = group(
  'workflows',
  'The workflows of SIMs, pools and billing cycles: start, watch and steer them.',
  [start, list, troubles, show, watch, signal, update, cancel, retry],
  {
    notes: `A workflow continues over restarts of every process; no command has to stay for it. An id names its type, its tenant
and its subject: provision-and-activate:t0123456789ab:7, suspend-on-overage:t0123456789ab:7:2026-11.

No command terminates one: a terminated run stops at once, with open tickets and SIMs in any state. "cancel" lets it end
in order; if nothing else can stop it, terminate it in Temporal's own page, then "retry".`,
    examples: [
      `npx simherd workflows list ${TENANT} --status running`,
      `npx simherd workflows show ${SUSPEND}`,
      `npx simherd workflows start provision-and-activate ${TENANT} --sim 7 --pool 1 --wait`,
    ],
  },
)
