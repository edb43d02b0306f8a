/** `simherd workflows watch <id>`, and following a run that another command has started. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { InternalClient } from '../../adapters/rest/client.ts'
import { hasFailed, outcomeOf } from '../../domain/workflows/run-view.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { CommandFailure } from '../failures.ts'
import { isJson, type OutputFlags, printAnswer } from '../output.ts'
import { ProblemResponse } from '../service.ts'
import { askRun, type RunInfo, tenantOf } from './ask.ts'
import { liveLine, type Output } from './live-line.ts'
import { standOf } from './progress.ts'
import { runLines } from './run-text.ts'

/** Each poll makes a worker run a query. So every second for two minutes, then every five seconds. */
const LOOK_FIRST_MS = 1000
const LOOK_LATER_MS = 5000
const LOOKS_FIRST = 120

export interface FollowFlags extends OutputFlags {
  readonly tenant?: string
}

/** Progress: beside the answer as JSON, on standard error. */
export const progressTo = (flags: OutputFlags): Output => (isJson(flags) ? process.stderr : process.stdout)

/**
 * Shows the progress of a run until it ends.
 *
 * @returns the run as it ended
 */
export async function follow(
  service: InternalClient,
  workflowId: string,
  output: Output = process.stdout,
): Promise<RunInfo> {
  const live = liveLine(output)
  try {
    for (let looks = 1; ; looks++) {
      const run = await askRun(service, workflowId)
      const { line, news } = standOf(run)
      live.show(line, news)
      if (run.status !== 'running') return run
      await sleep(looks < LOOKS_FIRST ? LOOK_FIRST_MS : LOOK_LATER_MS)
    }
  } finally {
    live.end()
  }
}

/** How long to wait for a run that the service has promised to start. */
const COMING_MS = 60_000

/** Like {@link follow}, for a run that the service starts after its response. */
export async function followSoon(service: InternalClient, workflowId: string, output?: Output): Promise<RunInfo> {
  const deadline = performance.now() + COMING_MS
  for (;;) {
    try {
      return await follow(service, workflowId, output)
    } catch (error) {
      const isComing = error instanceof ProblemResponse && error.code === 'workflow_not_found'
      if (!isComing || performance.now() > deadline) throw error
      await sleep(LOOK_FIRST_MS)
    }
  }
}

/**
 * Prints an ended run.
 *
 * @throws CommandFailure if it failed, for the exit code
 */
export function printEnd(run: RunInfo, flags: OutputFlags = {}): void {
  printAnswer(flags, run, () => ['', ...runLines(run)])
  if (!hasFailed(run)) return
  const { workflowId, status, failure } = run
  const why = outcomeOf(run) ?? (failure === null ? status : `${failure.code}: ${failure.detail}`)
  throw new CommandFailure(`${workflowId} has ended ${status}: ${why}`)
}

/**
 * Follows a run, then prints it.
 *
 * @throws CommandFailure if the run failed
 */
export async function watchWorkflow(settings: Settings, workflowId: string, flags: FollowFlags): Promise<void> {
  await askService({ settings, tenantId: tenantOf(workflowId, flags.tenant), follows: true }, async (service) =>
    printEnd(await follow(service, workflowId, progressTo(flags)), flags),
  )
}
