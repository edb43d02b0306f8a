/**
 * The long suites: what `npm test` leaves out, or runs with a tenth of its cases. `npm run test:long` runs them, and
 * `.ci/run` a share of them.
 */

export interface LongSuite {
  readonly name: string
  readonly proves: string
  /** Arguments of `npm test`, test files first; or those of `npm run conformance`. */
  readonly run: { readonly files: readonly string[]; readonly title?: string } | { readonly conformance: string }
  /** `npm test` runs the same files, with fewer cases. */
  readonly isDrawn?: true
  /** Each landing runs it, whatever its share. */
  readonly isAlways?: true
  /** It mostly waits, for an end of a cycle or of a retry. */
  readonly waits?: true
  /** The folder of another PostgreSQL than the embedded one. Not run where it is not installed. */
  readonly postgres?: string
  /** On two cores, beside others. */
  readonly minutes: number
}

/** The oldest PostgreSQL that Simherd works with, where Debian 12 has it. */
export const OLDEST_POSTGRES = '/usr/lib/postgresql/15/bin'

const NEWCOMER = 'the first month of a tenant that statistics do not know'
const LIFECYCLES = 'test/faults/lifecycles.test.ts'
const fault = (name: string, proves: string, title: string, minutes: number): LongSuite => ({
  name: `faults-${name}`,
  proves: `200 lifecycles are as without the fault: ${proves}`,
  run: { files: [LIFECYCLES], title },
  waits: true,
  minutes,
})
const outage = (name: string, proves: string, title: string, minutes: number): LongSuite => ({
  name: `outage-${name}`,
  proves: `two APIs and two workers go on while ${proves}`,
  run: { files: ['test/faults/outages.test.ts'], title },
  waits: true,
  minutes,
})
const conformance = (part: string, proves: string, minutes: number): LongSuite => ({
  name: `conformance-${part}`,
  proves,
  run: { conformance: part },
  minutes,
})
const realService = (name: string, proves: string, minutes: number): LongSuite => ({
  name: `real-service-${name}`,
  proves: `on the real service, in skipped time: ${proves}`,
  run: { files: [`test/workflows/real-service/${name}.test.ts`] },
  minutes,
})
const suite = (name: string, file: string, proves: string, minutes: number): LongSuite => ({
  name,
  proves,
  run: { files: [`test/${file}.test.ts`] },
  minutes,
})
const timelines = (subjects: string, title: string, minutes: number): LongSuite => ({
  name: `timelines-live-${subjects.split(' ')[0]?.toLowerCase()}`,
  proves: `the shipped timelines of ${subjects}, lived in PostgreSQL`,
  run: { files: ['test/service/watchdog/timelines-live.test.ts'], title },
  minutes,
})
const waiting = (one: LongSuite): LongSuite => ({ ...one, waits: true })
const drawn = (name: string, minutes: number, ...files: readonly string[]): LongSuite => ({
  name: `drawn-${name}`,
  proves: 'drawn cases, all of them',
  run: { files: files.map((file) => `test/${file}.test.ts`) },
  isDrawn: true,
  minutes,
})

export const LONG: readonly LongSuite[] = [
  {
    name: 'mixed-storm',
    proves: '100 lifecycles and 500 alerts, and each process and server killed once: nothing is lost or done twice',
    run: { files: ['test/faults/mixed.test.ts'] },
    isAlways: true,
    waits: true,
    minutes: 2,
  },
  fault('worker', 'the worker is killed', ': worker killed$', 3),
  fault('api', 'the API is killed', ': API killed$', 3),
  fault('temporal', 'Temporal is killed', ': Temporal killed$', 3),
  fault('postgres', 'PostgreSQL is killed', ': PostgreSQL killed$', 3),
  fault('redis', 'Redis is killed', ': Redis killed$', 3),
  fault('carrier', 'the carrier is killed', ': carrier killed$', 3),
  fault(
    'carrier-fails',
    'the carrier fails, acts without an answer, and is late',
    ': carrier (fails|acts|responds)',
    3,
  ),
  fault('carrier-all', 'it does all of that, and the worker is killed', ': carrier does all', 3),
  waiting(
    suite('faults-month-end', 'faults/month-end', 'a month end whose PostgreSQL is killed changes each SIM once', 4),
  ),
  waiting(suite('faults-main-job', 'faults/worker-killed', 'the main job, with the worker killed three times', 5)),
  outage('postgres', 'PostgreSQL hangs', ': PostgreSQL hangs$', 3),
  outage('redis', 'Redis hangs', ': Redis hangs$', 3),
  outage('temporal', 'Temporal hangs', ': Temporal hangs$', 3),
  outage('processes', 'one of them hangs', ': (API|worker) hangs$', 5),
  outage('no-temporal', 'Temporal is away for two minutes', 'away for two minutes$', 4),
  outage('restart', 'the APIs are restarted in turn', 'restarted in turn', 2),
  {
    name: 'storm-postgres',
    proves: '5,000 alerts while everything is killed in turn, with the queues in PostgreSQL',
    run: { files: ['test/faults/alerts.test.ts'], title: 'queues in PostgreSQL' },
    waits: true,
    minutes: 3,
  },
  {
    name: 'storm-redis',
    proves: 'the same, with the queues in Redis',
    run: { files: ['test/faults/alerts.test.ts'], title: 'queues in Redis' },
    waits: true,
    minutes: 3,
  },
  {
    name: 'demo',
    proves:
      'npm start from nothing to its table, simherd doctor, npm start again, a month end, and each page of the console',
    run: { files: ['test/demo/first-run.test.ts'] },
    waits: true,
    minutes: 8,
  },
  conformance('examples', 'the public interface under Schemathesis: examples, edges, sequences', 3),
  conformance('reads', 'the public interface under Schemathesis: drawn reads', 5),
  conformance('writes', 'the public interface under Schemathesis: drawn writes', 4),
  conformance('internal-examples', 'the internal interface under Schemathesis: examples, edges, sequences', 4),
  conformance('internal-drawn', 'the internal interface under Schemathesis: drawn requests', 8),
  suite('console-live', 'api/console/live-browser', 'a live page in Chromium keeps what a person does', 1),
  suite(
    'console-hostile',
    'api/console/hostile-browser',
    'words of others run nothing in Chromium, and are read back',
    1,
  ),
  suite('console-pages', 'api/console/pages', 'each page of the console in Chromium, with the longest texts', 6),
  suite('crowd', 'api/every-route/crowd', 'a hundred requests at once to any route let another tenant go first', 6),
  waiting(
    suite('two-of-each', 'e2e/two-of-each', 'the main job on two APIs and two workers, with the queues in Redis', 6),
  ),
  waiting(suite('pooler', 'e2e/pooler', 'the main job behind PgBouncer in transaction mode', 4)),
  waiting(suite('book-of-rules', 'e2e/book-of-rules', 'what docs/rules.md shows is printed', 4)),
  waiting(suite('quick-start', 'e2e/quick-start', "the runbook's quick start, on PostgreSQL 15 and 18", 4)),
  waiting(suite('failed-start', 'e2e/failed-start', 'a process that cannot start says why, and ends', 1)),
  {
    name: 'servers',
    proves: 'npm start has its own PostgreSQL and Temporal, whatever was left running',
    run: { files: ['postgres', 'temporal', 'wheels'].map((name) => `test/stack/${name}.test.ts`) },
    waits: true,
    minutes: 1,
  },
  waiting(suite('data-folder', 'e2e/data-folder', 'no other local user reads what npm start keeps', 1)),
  waiting(suite('stopped-worker', 'e2e/stopped-worker', 'a stopped worker finishes what it has begun', 1)),
  realService('asked-of-the-service', 'what workflows ask', 1),
  realService('commands', 'the commands of workflows', 1),
  realService('month-end', 'month ends', 1),
  realService('provision', 'provisioning, in bulk too', 1),
  realService('service', 'usage, mails and webhooks over months', 6),
  realService('steering', 'cancel, retry and reset', 1),
  realService('suspend', 'suspensions', 1),
  suite('bulk', 'workflows/provision-in-bulk/provision-in-bulk', 'provisioning in bulk, on the real service', 2),
  suite('enforce-pool', 'workflows/enforce-pool/enforce-pool', 'a pool over its limit, on the real service', 2),
  suite('undo', 'workflows/enforce-pool/undo-suspensions', 'suspensions that are undone, on the real service', 1),
  suite('ended-run', 'workflows/ended-run', 'a test run that is ended leaves no process behind', 1),
  suite('continued', 'workflows/continued', 'bulk runs continue as new', 2),
  suite('temporal-server', 'workflows/temporal-server', "Temporal's own server: Schedules, searches, restarts", 3),
  suite('backtest', 'service/backtests/backtest', 'a backtest decides as the service did', 5),
  suite('life-pairs', 'service/watchdog/life-pairs', 'pairs of changes of rules in force', 2),
  suite('example-month', 'service/backtests/example-month', 'ten hours of the example month, backtested', 1),
  suite('example-month-mails', 'service/channels/example-month', 'the example month, its mails in each grouping', 1),
  timelines('pools and tenants', '^(pool|tenant)/', 4),
  timelines('SIMs', '^(?!pool/|tenant/)', 7),
  drawn(
    'rules',
    2,
    'unit/rules/alerts',
    'unit/rules/alerts-model',
    'unit/rules/compile/compile-set',
    'unit/rules/compile/differential',
    'unit/rules/compile/flip-at',
    'unit/rules/compile/judge-subject',
    'unit/rules/compile/whole-rules',
    'unit/rules/evaluate',
    'unit/rules/explain/effective',
    'unit/rules/explain/nearest',
    'unit/rules/fuzz',
    'unit/rules/suspend-targets',
    'unit/domain/instant',
  ),
  drawn('store', 1, 'store/copy', 'store/figures', 'store/pool-counts'),
  drawn('plans', 2, 'store/plans/plans'),
  suite('newcomer', 'store/plans/newcomer', NEWCOMER, 2),
  {
    ...suite('newcomer-oldest', 'store/plans/newcomer', `${NEWCOMER}, on PostgreSQL 15`, 2),
    postgres: OLDEST_POSTGRES,
  },
  drawn('api', 2, 'api/sims/cursors', 'api/http/idempotency', 'api/tickets/histories'),
  drawn('routes', 2, 'api/every-route/robustness', 'api/every-route/bounded-refusals'),
  drawn('console', 1, 'workflows/console'),
  drawn(
    'service',
    2,
    'service/sims/take-over',
    'service/month-end/plan',
    'service/month-end/statement',
    'service/month-end/statement-histories',
    'service/usage/figure-histories',
    'service/usage/limits',
  ),
  drawn(
    'watchdog',
    1,
    'service/watchdog/facts-needed',
    'service/watchdog/first-look',
    'service/watchdog/path-histories',
    'service/watchdog/path-order',
  ),
]

/** Test files that only the long suites run. */
export const LONG_FILES: readonly string[] = [
  ...new Set(LONG.flatMap(({ run, isDrawn = false }) => ('files' in run && !isDrawn ? run.files : []))),
]

/** Files that this run leaves out: in `npm test` those of the long suites. test/run.ts sets the tier. */
export const LEFT_OUT: readonly string[] = process.env.TEST_TIER === '1' ? LONG_FILES : []

/** A prime number: landings at the same hour of the day take other shares. */
export const SHARES = 23

/**
 * The suites in shares, without those that each landing runs. Each share has as many minutes of suites that wait as the
 * others, and as many of those that compute: two cores do not compute sooner in more lanes.
 */
export function sharesOf(suites: readonly LongSuite[]): readonly (readonly LongSuite[])[] {
  const shares = Array.from({ length: SHARES }, () => ({ waiting: 0, computing: 0, suites: [] as LongSuite[] }))
  for (const one of suites.filter(({ isAlways = false }) => !isAlways).toSorted((a, b) => b.minutes - a.minutes)) {
    const kind = one.waits === true ? 'waiting' : 'computing'
    const totalOf = (share: (typeof shares)[number]) => share.waiting + share.computing
    const [emptiest] = shares.toSorted((a, b) => a[kind] - b[kind] || totalOf(a) - totalOf(b))
    if (emptiest === undefined) throw new Error('there are no shares')
    emptiest[kind] += one.minutes
    emptiest.suites.push(one)
  }
  return shares.map((share) => share.suites)
}

const HOUR_S = 3600

/** The share of a commit. @param committedAt in epoch seconds: landings some hours apart take the shares in turn */
export const shareAt = (committedAt: number): number => Math.floor(committedAt / HOUR_S) % SHARES
