/** The `simherd` command: its processes, and all other commands below it. */

import completeInShells from '@bomb.sh/tab/commander'
import { Option } from 'commander'
import { dropUndefined } from '../domain/drop-undefined.ts'
import packageJson from '../package.json' with { type: 'json' }
import { command, group, serviceCommand, settingsWith, withSettings } from './command.ts'
import { tenantCommands } from './commands/index.ts'
import { port, portOrOff } from './option-values.ts'
import { OUTPUT } from './output.ts'
import { rules } from './rules/index.ts'
import { workflows } from './workflows/index.ts'

interface StartFlags {
  readonly fresh?: boolean
  readonly bootstrap?: boolean
  readonly demo?: boolean | 'month-end'
  readonly port?: number
  readonly internalPort?: number
  readonly workerPort?: number
  readonly consolePort?: string
  readonly inboxPort?: number
  readonly temporalUiPort?: number
  readonly dataDir?: string
  readonly verbose?: boolean
}

const start = command(
  'start',
  'Run everything on this machine: servers, API and worker; on an empty database play the demonstration.',
  {
    notes: `These settings name your servers in place of the embedded ones:
DATABASE_URL, TEMPORAL_ADDRESS, REDIS_URL, SMTP_URL, CARRIER_URL.
Addresses, keys and process ids are written to <data folder>/stack.json.
Ctrl-C ends everything in order, a second Ctrl-C at once. Starting again continues with the same data.`,
    examples: [
      'npm start                            play the demonstration, then stay up',
      'npm start -- --fresh                 the same, from nothing',
      'npm start -- --demo=month-end        a month end of 20 SIMs in a billing cycle of 2 minutes',
      'npm start -- --no-demo --port 9080   no demonstration, another port',
      'DATA_DIR=/tmp/trial npm start        a second one at the same time (give it other ports)',
    ],
  },
)
  .option('--fresh', 'delete the data of earlier runs from the data folder first')
  .option('--bootstrap', 'make operator keys in your database (DATABASE_URL) if it has none for this data folder')
  .addOption(
    new Option(
      '--demo [play]',
      'play the demonstration also in a database with tenants, or that of a month end',
    ).choices(['month-end']),
  )
  .option('--no-demo', 'do not play the demonstration')
  .option('--port <n>', 'port of the public API (PORT, 8080)', port)
  .option('--internal-port <n>', 'port of the internal API (INTERNAL_PORT, 8081)', port)
  .option('--worker-port <n>', "port of the worker's health and metrics (WORKER_PORT, 8082)", port)
  .option('--console-port <n>', 'port of the console (CONSOLE_PORT, 8083), or off', portOrOff)
  .option('--inbox-port <n>', 'port of the inbox page (8025, or any free one)', port)
  .option('--temporal-ui-port <n>', "port of Temporal's own page (8233, or any free one)", port)
  .option('--data-dir <dir>', 'data folder of the embedded servers (DATA_DIR, .data)')
  .option('--verbose', 'show every log line of API and worker, not only warnings')
  .action(async (flags: StartFlags) => {
    const { fresh = false, bootstrap = false, demo = 'once', verbose = false, inboxPort, temporalUiPort } = flags
    const settings = settingsWith(
      dropUndefined({
        PORT: flags.port,
        INTERNAL_PORT: flags.internalPort,
        WORKER_PORT: flags.workerPort,
        CONSOLE_PORT: flags.consolePort,
        DATA_DIR: flags.dataDir,
      }),
    )
    await (await import('./start/start.ts')).start(settings, {
      fresh,
      bootstrap,
      demo,
      verbose,
      ...dropUndefined({ inboxPort, temporalUiPort }),
    })
  })

const api = command('api', 'Run the API: the public and the internal listener, and the console.', {
  notes: `Needs DATABASE_URL (migrated) and TEMPORAL_ADDRESS; REDIS_URL if the queues are in Redis.
Any number may run behind a load balancer. SIGTERM ends it after its open requests.`,
  examples: ['DATABASE_URL=… TEMPORAL_ADDRESS=temporal:7233 HOST=0.0.0.0 node cli/simherd.js api'],
}).action(withSettings(async () => (await import('./commands/api.ts')).serveApi))

const worker = command('worker', 'Run a worker: tickets, watchdog, e-mails, workflows.', {
  notes: `Needs DATABASE_URL (migrated), TEMPORAL_ADDRESS, SMTP_URL, CARRIER_URL with CARRIER_SECRET, SERVICE_KEY (an operator
key) or SERVICE_KEY_FILE; SERVICE_BASE_URL and SERVICE_INTERNAL_URL if the API is on another machine.
Any number may run. SIGTERM ends it after its present work; the next worker takes up the rest.`,
  examples: [
    'DATABASE_URL=… TEMPORAL_ADDRESS=… SMTP_URL=… CARRIER_URL=… CARRIER_SECRET=… SERVICE_KEY=… node cli/simherd.js worker',
  ],
}).action(withSettings(async () => (await import('./commands/worker.ts')).runWorker))

const migrate = command(
  'migrate',
  'Bring the database at DATABASE_URL to the newest schema. Safe to run again, and by several at once.',
  {
    notes: `Processes of the release before continue to work during and after it; --contract ends that. Processes of a release
without --contract do not register: end those first.`,
    examples: [
      'DATABASE_URL=… npx simherd migrate --plan',
      'DATABASE_URL=… npx simherd migrate',
      'DATABASE_URL=… npx simherd migrate --contract',
    ],
  },
)
  .option('--plan', 'only list the pending migrations, their phase, and the size of their tables')
  .option('--contract', 'wait until no process of an earlier release is left, and remove parts that only they needed')
  .action(withSettings(async () => (await import('./commands/migrate.ts')).migrateDatabase))

const doctor = command('doctor', 'Check installation, connections and migrations; suggest fixes. Changes nothing.', {
  notes: 'The exit code is 1 if something is missing.',
  examples: ['npx simherd doctor -o json'],
})
  .addOption(OUTPUT)
  .option(
    '--figures',
    'add up the kept figures of SIMs and usage again, and list differences: seconds for a million SIMs',
  )
  .action(withSettings(async () => (await import('./doctor/doctor.ts')).doctor))

const consoleLink = serviceCommand(
  'console',
  'Print a link that signs in to the console once, within 15 minutes, with the rights of the key.',
  ['console', 'console -o json'],
)
  .addOption(OUTPUT)
  .action(withSettings(async () => (await import('./commands/console.ts')).printConsoleLink))

const keys = group('keys', 'API keys. All but the first are made by the internal API.', [
  serviceCommand('list', 'List the keys of a tenant, or the operator keys, without their secrets.', [
    'keys list --tenant t0123456789ab',
  ])
    .option('--tenant <id>', 'the tenant; default: operator keys')
    .addOption(OUTPUT)
    .action(withSettings(async () => (await import('./commands/tenants.ts')).listKeys)),
  command('create-operator', 'Make an operator key directly in the database at DATABASE_URL, and print it.', {
    examples: ['DATABASE_URL=… npx simherd keys create-operator'],
  })
    .option('--name <name>', 'its purpose', 'made by the command line')
    .action(withSettings(async () => (await import('./commands/keys.ts')).createOperatorKey)),
])

export const program = group(
  'simherd',
  'Connectivity management for estates of IoT SIMs.',
  [start, api, worker, migrate, doctor, consoleLink, keys, ...tenantCommands, workflows, rules],
  {
    notes: `Settings come from the environment (docs/configuration.md lists them).
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 unreachable.`,
    examples: [
      'npm start                                 everything on embedded servers, with a demonstration',
      'DATABASE_URL=… TEMPORAL_ADDRESS=… SERVICE_KEY=… node cli/simherd.js api',
      'npx simherd doctor                        check installation, connections and migrations',
    ],
  },
).version(packageJson.version, '-V, --version', 'print the version')

// Adds the command "completion <shell>".
completeInShells(program, { completionCommandName: 'completion' })
