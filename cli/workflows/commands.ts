/** `simherd workflows …`: the commands and their options. Each command is loaded when it runs. */

import { Argument, type Command, Option } from 'commander'
import { WORKFLOW_TYPES } from '../../domain/temporal/ids.ts'
import { WORKFLOW_SIGNALS } from '../../domain/temporal/signals.ts'
import { STATUSES } from '../../domain/workflows/workflow.ts'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id, idempotencyKey, wholeNumber } from '../option-values.ts'
import type { ListFlags } from './list.ts'
import type { ShowFlags } from './show.ts'
import { addStarts } from './start-commands.ts'
import type { SteerFlags, UpdateFlags } from './steer.ts'
import type { WatchFlags } from './watch.ts'

/** @param settings reads the settings; called when a command needs them */
export function addWorkflowCommands(program: Command, settings: () => Settings): void {
  const workflows = program
    .command('workflows')
    .description('The workflows of SIMs, pools and billing cycles: start, watch and steer them.')
    .addHelpText(
      'after',
      `
A workflow goes on over restarts of everything; no command has to stay for it. An id names its type, its tenant and
what it is about: provision-and-activate:t0123456789ab:7, suspend-on-overage:t0123456789ab:7:2026-11.

There is no command to terminate one: a terminated run stops where it is, with tickets open and SIMs as they happen to
be. "cancel" lets it end in order; one that nothing else can stop is terminated in Temporal's own page, then "retry".

Examples:
  npx simherd workflows list --tenant t0123456789ab --status running
  npx simherd workflows show suspend-on-overage:t0123456789ab:7:2026-11
  npx simherd workflows start provision-and-activate --tenant t0123456789ab --sim 7 --pool 1 --wait`,
    )
  addStarts(workflows, settings)
  addLooks(workflows, settings)
  addSteering(workflows, settings)
}

function addLooks(workflows: Command, settings: () => Settings): void {
  workflows
    .command('list')
    .description('Workflows of a tenant, the newest first.')
    .requiredOption('--tenant <id>', 'the tenant')
    .addOption(new Option('--type <type>', 'of this type').choices([...WORKFLOW_TYPES]))
    .addOption(new Option('--status <status>', 'with this status').choices([...STATUSES]))
    .option('--state <word>', 'that show this word of themselves: suspended, grace, compensated, …')
    .option('--sim <id>', 'of this SIM', id)
    .option('--pool <id>', 'of this pool', id)
    .option('--cycle <key>', 'of this billing cycle')
    .option('--page <n>', 'page, from 1', wholeNumber(1, 1_000_000), 1)
    .option('--page-size <n>', 'most of a page, 1 to 100', wholeNumber(1, 100), 50)
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      `
${ASKS}
Filters add up. A Temporal server forgets ended workflows after its retention.

Examples:
  npx simherd workflows list --tenant t0123456789ab --type suspend-on-overage --state suspended
  npx simherd workflows list --tenant t0123456789ab --sim 7`,
    )
    .action(async (flags: ListFlags) => {
      const { listWorkflows } = await import('./list.ts')
      await listWorkflows(settings(), flags)
    })

  withId(workflows.command('show'))
    .description(
      'A workflow: state, steps with their tickets, what it waits for, until when and why, what it hangs on.',
    )
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      `
${ASKS}
Works without a worker too: then the steps are not known, and it says so. Times are in UTC.

Example:
  npx simherd workflows show provision-and-activate:t0123456789ab:7`,
    )
    .action(async (workflowId: string, flags: ShowFlags) => {
      const { showWorkflow } = await import('./show.ts')
      await showWorkflow(settings(), workflowId, flags)
    })

  withId(workflows.command('watch'))
    .description('Follow a workflow until it ends, then show it. Exit code 1 where it failed.')
    .option('--json', 'show it as JSON in the end; where it stands goes to standard error')
    .addHelpText(
      'after',
      `
${ASKS}
On a terminal one line is kept up to date; in a pipe there is a line for each new state, and every ten seconds.
Ctrl-C ends the watching, not the workflow.

Example:
  npx simherd workflows watch month-end-reprovision:t0123456789ab:2026-10`,
    )
    .action(async (workflowId: string, flags: WatchFlags) => {
      const { watchWorkflow } = await import('./watch.ts')
      await watchWorkflow(settings(), workflowId, flags)
    })
}

const withId = (command: Command): Command =>
  command
    .addArgument(new Argument('<id>', 'id of the workflow'))
    .option('--tenant <id>', 'the tenant; left out: the one in the id')

/** Adds the option `--key`: requests with the same key take effect once, even across commands. */
const withKey = (command: Command): Command =>
  withId(command).option(
    '--key <text>',
    'asked again under the same key it is done once; left out: a new one, which a command that got no answer tells',
    idempotencyKey,
  )

/** The signals that each type of workflow takes, a line each. */
const signalLines = (): string =>
  Object.entries(WORKFLOW_SIGNALS)
    .map(([type, names]) => `  ${type.padEnd(20)} ${names.join(', ')}`)
    .join('\n')

function addSteering(workflows: Command, settings: () => Settings): void {
  withId(workflows.command('signal'))
    .argument('<name>', 'the signal')
    .description('Tell a running workflow what has happened.')
    .addHelpText(
      'after',
      `
${ASKS}
The service itself signals what it notices. By hand this is for what it cannot know.
${signalLines()}

Example:
  npx simherd workflows signal suspend-on-overage:t0123456789ab:7:2026-11 cleared`,
    )
    .action(async (workflowId: string, name: string, flags: SteerFlags) => {
      const { signalWorkflow } = await import('./steer.ts')
      await signalWorkflow(settings(), workflowId, name, flags)
    })

  withKey(workflows.command('update'))
    .argument('<name>', 'the update')
    .option('--by <duration>', 'extendGrace: longer by this, such as PT2H')
    .option('--until <when>', 'extendGrace: until this instant; keepSuspended: manual (left out) or renewal')
    .description('Ask a running workflow for a change; it judges it by where it stands, and answers.')
    .addHelpText(
      'after',
      `
${ASKS}
Of suspend-on-overage:
  resume          bring the SIM back, and not again in this cycle
  keepSuspended   leave it suspended beyond the renewal; --until renewal takes that back
  extendGrace     give it longer: --by PT2H, or --until 2026-11-21T18:00:00Z
Of month-end-reprovision:
  retryFailedChanges   try the queued changes that failed once more, until the cycle is closed
A change that does not fit where it stands is refused with its reason: exit code 4.

Examples:
  npx simherd workflows update suspend-on-overage:t0123456789ab:7:2026-11 resume
  npx simherd workflows update suspend-on-overage:t0123456789ab:7:2026-11 extendGrace --by PT2H`,
    )
    .action(async (workflowId: string, name: string, flags: UpdateFlags) => {
      const { updateWorkflow } = await import('./steer.ts')
      await updateWorkflow(settings(), workflowId, name, flags)
    })

  withKey(workflows.command('cancel'))
    .option('--wait', 'until it has ended; exit code 1 where it ended otherwise meanwhile')
    .description('Ask a running workflow to end in order: a provisioning is undone, a suspended SIM stays as it is.')
    .addHelpText(
      'after',
      `
${ASKS}

Example:
  npx simherd workflows cancel provision-and-activate:t0123456789ab:7 --wait`,
    )
    .action(async (workflowId: string, flags: SteerFlags) => {
      const { cancelWorkflow } = await import('./steer.ts')
      await cancelWorkflow(settings(), workflowId, flags)
    })

  withKey(workflows.command('retry'))
    .option('--wait', 'follow it until it ends; exit code 1 where it failed again')
    .description(
      'Start one that failed, was undone or cancelled, terminated or timed out again, with what it was given.',
    )
    .addHelpText(
      'after',
      `
${ASKS}
What the run before has done is found done. One that runs, or has ended well, is refused: exit code 4. So is a batch of
a month end (start the month end again), and a provision-in-bulk that is through its list (start those that failed anew).

Example:
  npx simherd workflows retry month-end-reprovision:t0123456789ab:2026-10 --wait`,
    )
    .action(async (workflowId: string, flags: SteerFlags) => {
      const { retryWorkflow } = await import('./steer.ts')
      await retryWorkflow(settings(), workflowId, flags)
    })
}
