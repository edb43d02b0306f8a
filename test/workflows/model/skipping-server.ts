/** The Java server that skips time, relieved of a fault. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TestWorkflowEnvironment } from '@temporalio/testing'

/** The SDK gives it five seconds to listen; on a busy machine Java takes longer the first time. */
const ATTEMPTS = 20
const LOOK_EVERY_MS = 2000

export interface SkippingServer {
  readonly env: TestWorkflowEnvironment
  /** Leaps ahead, in milliseconds. */
  readonly leap: (ms: number) => Promise<void>
  /** A call that may take long: it ends with the server, and is not tried again after it. */
  readonly patiently: <T>(call: () => Promise<T>) => Promise<T>
  readonly stop: () => Promise<void>
}

/** @param path its program */
export async function startSkippingServer(path: string): Promise<SkippingServer> {
  const env = await start(path)
  const keeper = keepTimeGoing(env)
  const stopping = new AbortController()
  const patiently = <T>(call: () => Promise<T>) => env.connection.withAbortSignal(stopping.signal, call)
  const stop = async () => {
    stopping.abort()
    await keeper.stop()
    await env.teardown()
  }
  return { env, leap: (ms) => patiently(() => env.sleep(ms)), patiently, stop }
}

async function start(path: string): Promise<TestWorkflowEnvironment> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
      })
    } catch (error) {
      const late = error instanceof Error && error.message.includes('did not start within')
      if (!late || attempt === ATTEMPTS) throw error
    }
  }
}

/**
 * Lets time go that nothing holds any more.
 *
 * A workflow task holds time until it ends. One in which a run continues as new, and during which the run is asked for
 * its state, never does on this server (1.38.0): it wants another workflow task for the question, finds that the run
 * has ended, and takes none of it down. The next run has begun all the same; the one before stays open, and time stands
 * still for good. So runs that stay open after a later one has begun are looked for, and each one's hold is given up.
 */
function keepTimeGoing(env: TestWorkflowEnvironment) {
  const letGo = new Set<string>()
  let suspects: ReadonlySet<string> = new Set()
  const look = async () => {
    const overtaken = await overtakenRuns(env)
    // One that is just continuing as new looks the same for a moment.
    for (const runId of overtaken) {
      if (!suspects.has(runId) || letGo.has(runId)) continue
      letGo.add(runId)
      await env.connection.testService?.unlockTimeSkipping({})
    }
    suspects = overtaken
  }
  const stopping = new AbortController()
  const looks = async () => {
    while (!stopping.signal.aborted) {
      // The server fails to list what changes meanwhile: then the next look will do.
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

/** Runs that are open though a later one of their workflow has begun. */
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
