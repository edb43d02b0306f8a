/** The `simherd` command: its subcommands and their options. Each subcommand is loaded when it runs. */
import { Command } from 'commander'
import { readSettings, type Settings } from '../process/settings.ts'
import { addAddressCommands } from './commands/address-commands.ts'
import { addAlertCommands } from './commands/alert-commands.ts'
import { addEnforcementCommands } from './commands/enforcement-commands.ts'
import { addEstateCommands } from './commands/estate-commands.ts'
import type { MigrateFlags } from './commands/migrate.ts'
import { addTenantCommands } from './commands/tenant-commands.ts'
import { addWebhookCommands } from './commands/webhook-commands.ts'
import { CommandFailure, ExitCode, requireSettings, wordsOf } from './failures.ts'
import { ASKS } from './help-text.ts'
import { port } from './option-values.ts'
import { addRuleCommands } from './rules/commands.ts'
import { addWorkflowCommands } from './workflows/commands.ts'

export const program = new Command('simherd')
  .description('Connectivity management for estates of IoT SIMs.')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
  .addHelpText(
    'after',
    `
Settings come from the environment (docs/configuration.md lists them).
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 unreachable.

Examples:
  npm start                                 all of it on embedded servers, with a demonstration
  DATABASE_URL=… TEMPORAL_ADDRESS=… SERVICE_KEY=… node cli/simherd.js api
  npx simherd doctor                        what is installed, reachable, migrated`,
  )

/**
 * The settings of the environment, with the overrides of the command line.
 *
 * @throws CommandFailure for a wrong setting
 */
function settingsWith(change: Partial<Settings>): Settings {
  try {
    return { ...readSettings(), ...change }
  } catch (error) {
    throw new CommandFailure(wordsOf(error), ExitCode.usage, { cause: error })
  }
}

interface StartFlags {
  readonly fresh?: boolean
  readonly bootstrap?: boolean
  readonly demo?: boolean
  readonly port?: number
  readonly internalPort?: number
  readonly workerPort?: number
  readonly inboxPort?: number
  readonly temporalUiPort?: number
  readonly dataDir?: string
  readonly verbose?: boolean
}

program
  .command('start')
  .description(
    'Run everything on this machine: servers, API and worker, and play the demonstration on an empty database.',
  )
  .option('--fresh', 'begin anew: delete what earlier runs left in the data folder')
  .option('--bootstrap', 'make operator keys in a database of yours (DATABASE_URL) that has none for this data folder')
  .option('--demo', 'play the demonstration even where it has been played before')
  .option('--no-demo', 'do not play the demonstration')
  .option('--port <n>', 'port of the public API (PORT, 8080)', port)
  .option('--internal-port <n>', 'port of the internal API (INTERNAL_PORT, 8081)', port)
  .option('--worker-port <n>', "port of the worker's health and metrics (WORKER_PORT, 8082)", port)
  .option('--inbox-port <n>', 'port of the inbox page (8025, or any free one)', port)
  .option('--temporal-ui-port <n>', "port of Temporal's own page (8233, or any free one)", port)
  .option('--data-dir <dir>', 'where the embedded servers keep their data (DATA_DIR, .data)')
  .option('--verbose', 'show every log line of API and worker, not only warnings')
  .addHelpText(
    'after',
    `
Servers of your own are used instead of the embedded ones, each by its setting:
DATABASE_URL, TEMPORAL_ADDRESS, REDIS_URL, SMTP_URL, CARRIER_URL.
Addresses, keys and process ids are written to <data folder>/stack.json.
Ctrl-C ends everything in order, a second Ctrl-C at once. Starting again continues with the same data.

Examples:
  npm start                            play the demonstration, then stay up
  npm start -- --fresh                 the same, from nothing
  npm start -- --no-demo --port 9080   no demonstration, another port
  DATA_DIR=/tmp/trial npm start        a second one beside it (give it other ports)`,
  )
  .action(async (flags: StartFlags) => {
    const settings = settingsWith({
      ...(flags.port !== undefined && { PORT: flags.port }),
      ...(flags.internalPort !== undefined && { INTERNAL_PORT: flags.internalPort }),
      ...(flags.workerPort !== undefined && { WORKER_PORT: flags.workerPort }),
      ...(flags.dataDir !== undefined && { DATA_DIR: flags.dataDir }),
    })
    const { start } = await import('./start/start.ts')
    await start(settings, {
      fresh: flags.fresh ?? false,
      bootstrap: flags.bootstrap ?? false,
      demo: flags.demo ?? 'once',
      verbose: flags.verbose ?? false,
      ...(flags.inboxPort !== undefined && { inboxPort: flags.inboxPort }),
      ...(flags.temporalUiPort !== undefined && { temporalUiPort: flags.temporalUiPort }),
    })
  })

program
  .command('api')
  .description('Run the API: the public and the internal listener.')
  .addHelpText(
    'after',
    `
Needs DATABASE_URL (migrated) and TEMPORAL_ADDRESS; REDIS_URL where the queues live in Redis.
Any number may run behind a load balancer. SIGTERM ends it after the requests under way.

Example:
  DATABASE_URL=… TEMPORAL_ADDRESS=temporal:7233 HOST=0.0.0.0 node cli/simherd.js api`,
  )
  .action(async () => {
    const settings = settingsWith({})
    const [{ runApi }, { createLog }, { runUntilSignal }] = await Promise.all([
      import('./commands/api.ts'),
      import('../process/log.ts'),
      import('./run-until-signal.ts'),
    ])
    const log = createLog(settings, 'api')
    await runUntilSignal(log, () => runApi(settings, log))
  })

program
  .command('worker')
  .description('Run a worker: tickets, watchdog, e-mails, workflows.')
  .addHelpText(
    'after',
    `
Needs DATABASE_URL (migrated), TEMPORAL_ADDRESS, SMTP_URL, CARRIER_URL with CARRIER_SECRET, SERVICE_KEY (an operator
key) or SERVICE_KEY_FILE, and SERVICE_BASE_URL and SERVICE_INTERNAL_URL where the API is not on this machine.
Any number may run. SIGTERM ends it after the work under way; whatever is left is taken up by the next.

Example:
  DATABASE_URL=… TEMPORAL_ADDRESS=… SMTP_URL=… CARRIER_URL=… CARRIER_SECRET=… SERVICE_KEY=… node cli/simherd.js worker`,
  )
  .action(async () => {
    const settings = settingsWith({})
    const [{ startWorker }, { refuseDatabase }, { buildApp }, { createLog }, { runUntilSignal }] = await Promise.all([
      import('../worker/main.ts'),
      import('./refuse-database.ts'),
      import('../api/http/app.ts'),
      import('../process/log.ts'),
      import('./run-until-signal.ts'),
    ])
    requireSettings(settings, [
      'DATABASE_URL',
      'TEMPORAL_ADDRESS',
      'SMTP_URL',
      'CARRIER_URL',
      'CARRIER_SECRET',
      ...(settings.SERVICE_KEY_FILE === '' ? (['SERVICE_KEY'] as const) : []),
    ])
    const log = createLog(settings, 'worker')
    await runUntilSignal(log, async () => {
      await refuseDatabase(settings)
      return startWorker(settings, log, buildApp({}))
    })
  })

program
  .command('migrate')
  .description('Bring the database at DATABASE_URL to the newest schema. Safe to run again, and by several at once.')
  .option('--plan', 'only say which migrations there are to do, of which phase, and how large their tables are')
  .option('--contract', 'wait until no process of an earlier release is left, and take away what only they needed')
  .addHelpText(
    'after',
    `
Processes of the release before go on working while and after it runs; --contract ends that. Processes of a release
without --contract do not say that they are at work: end those first.

Examples:
  DATABASE_URL=… npx simherd migrate --plan
  DATABASE_URL=… npx simherd migrate
  DATABASE_URL=… npx simherd migrate --contract`,
  )
  .action(async (flags: MigrateFlags) => {
    const { migrateDatabase } = await import('./commands/migrate.ts')
    await migrateDatabase(settingsWith({}), flags)
  })

program
  .command('doctor')
  .description('Say what is installed, reachable and migrated, and what to do about what is not. Changes nothing.')
  .option('-o, --output <format>', 'table or json', 'table')
  .option(
    '--figures',
    'add up again what is kept of the SIMs and their usage, and name what differs: seconds for a million SIMs',
  )
  .addHelpText('after', '\nExit code 1 where something is missing.\n\nExample:\n  npx simherd doctor -o json')
  .action(async ({ output, figures = false }: { readonly output: string; readonly figures?: boolean }) => {
    if (output !== 'table' && output !== 'json') {
      throw new CommandFailure(`--output: got ${output}, expected table or json`, ExitCode.usage)
    }
    const { doctor } = await import('./doctor/doctor.ts')
    await doctor(settingsWith({}), { output, figures })
  })

const schedule = program
  .command('schedule')
  .description("A tenant's month-end Schedule, which starts the month end when a billing cycle ends.")
for (const action of ['pause', 'resume'] as const) {
  schedule
    .command(action)
    .description(action === 'pause' ? 'Let no month end start by itself.' : 'Let month ends start by themselves again.')
    .requiredOption('--tenant <id>', 'the tenant')
    .addHelpText(
      'after',
      `
${ASKS}

Example:
  npx simherd schedule ${action} --tenant t0123456789ab`,
    )
    .action(async ({ tenant }: { readonly tenant: string }) => {
      const { setSchedule } = await import('./commands/schedule.ts')
      await setSchedule(settingsWith({}), action, tenant)
    })
}

program
  .command('keys')
  .description('API keys. All but the first are made by the internal API.')
  .command('create-operator')
  .description('Make an operator key straight in the database at DATABASE_URL, and print it.')
  .option('--name <name>', 'what it is for', 'made by the command line')
  .addHelpText('after', '\nExample:\n  DATABASE_URL=… npx simherd keys create-operator')
  .action(async ({ name }: { readonly name: string }) => {
    const { createOperatorKey } = await import('./commands/keys.ts')
    await createOperatorKey(settingsWith({}), name)
  })

addEstateCommands(program, () => settingsWith({}))
addWorkflowCommands(program, () => settingsWith({}))
addAlertCommands(program, () => settingsWith({}))
addWebhookCommands(program, () => settingsWith({}))
addAddressCommands(program, () => settingsWith({}))
addEnforcementCommands(program, () => settingsWith({}))
addTenantCommands(program, () => settingsWith({}))
addRuleCommands(program, () => settingsWith({}))
