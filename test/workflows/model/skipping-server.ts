/** The server that skips time, with a workaround for a bug. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { endWaits } from '../../setup/soon.ts'
import { watchStandstill } from './standstill.ts'

const LOOK_EVERY_MS = 2000

export interface SkippingServer {
  readonly env: TestWorkflowEnvironment
  /** Skips ahead by this many milliseconds. */
  readonly leap: (ms: number) => Promise<void>
  /** For a call that waits for skipped time. It fails if the server stands still, and when it is stopped. */
  readonly patiently: <T>(call: () => Promise<T>) => Promise<T>
  readonly stop: () => Promise<void>
}

interface Options {
  /** Whether the workaround is off, so that the server can be made to stand still. */
  readonly standsStill?: boolean
  /** How often to look for a standstill, in milliseconds. */
  readonly lookEveryMs?: number
}

/**
 * Once the server stands still, all waits of the test end with an error that says so (standstill.ts).
 *
 * @param path the server's program
 */
export async function startSkippingServer(path: string, options: Options = {}): Promise<SkippingServer> {
  const env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  })
  const keeper = options.standsStill === true ? undefined : keepTimeGoing(env)
  const watch = watchStandstill(env, endWaits, options.lookEveryMs)
  const stopping = new AbortController()
  const patiently = <T>(call: () => Promise<T>) =>
    watch.skipping(() => env.connection.withAbortSignal(stopping.signal, call))
  const stop = async () => {
    stopping.abort()
    await watch.stop()
    await keeper?.stop()
    await env.teardown()
  }
  return { env, leap: (ms) => patiently(() => env.sleep(ms)), patiently, stop }
}

/**
 * Unlocks time skipping that a bug of the server (1.38.0) leaves locked.
 *
 * A workflow task locks time skipping until it ends. The bug: a run continues as new in a workflow task, and a query
 * arrives during that task. The server wants another workflow task for the query, finds that the run has ended, and
 * records nothing. The next run has started all the same. The earlier run stays open, and time stands still for good.
 * So this looks for runs that are open although a later run has started, and unlocks once for each.
 */
function keepTimeGoing(env: TestWorkflowEnvironment) {
  const unlocked = new Set<string>()
  let suspects: ReadonlySet<string> = new Set()
  const look = async () => {
    const overtaken = await overtakenRuns(env)
    // A run that is just continuing as new looks the same for a moment, so it must be seen twice.
    for (const runId of overtaken) {
      if (!suspects.has(runId) || unlocked.has(runId)) continue
      unlocked.add(runId)
      await env.connection.testService?.unlockTimeSkipping({})
    }
    suspects = overtaken
  }
  const stopping = new AbortController()
  const looks = async () => {
    while (!stopping.signal.aborted) {
      // The list fails if a run changes meanwhile. The next look is soon enough.
      await look().catch(() => undefined)
      await sleep(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = looks()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

/** Runs that are open although a later run of their workflow has started. */
async function overtakenRuns({ connection, namespace = 'default' }: TestWorkflowEnvironment): Promise<Set<string>> {
  const server = connection.workflowService
  const { executions } = await server.listOpenWorkflowExecutions({ namespace, maximumPageSize: 10_000 })
  const overtaken = new Set<string>()
  for (const { execution } of executions) {
    if (!execution?.workflowId || !execution.runId) continue
    const { workflowId, runId } = execution
    const latest = await server.describeWorkflowExecution({ namespace, execution: { workflowId } })
    if (latest.workflowExecutionInfo?.execution?.runId !== runId) overtaken.add(runId)
  }
  return overtaken
}
