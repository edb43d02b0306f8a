/** Runs of suspend-on-overage on one SIM, one after the other, in skipped time on the model of the service. */
import { afterEach, beforeEach, expect } from 'vitest'
import type { SuspendSignal } from '../../../domain/temporal/signals.ts'
import type {
  SuspendOnOverageInput,
  SuspendOnOverageResult,
  SuspendOnOverageState,
  SuspendUpdateResult,
  SuspendUpdates,
} from '../../../domain/temporal/suspend-on-overage.ts'
import { soon } from '../../setup/soon.ts'
import { useSkippingHarness } from '../harness.ts'
import { aSim, aSuspension } from '../model/service.ts'

export const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000] as const

/** Call in a describe. @param path the time-skipping server's program */
export function useSuspensions(path: string) {
  const harness = useSkippingHarness(path)
  let cycle = 0
  let id = ''
  let endsAt = 0
  // Ends a run that a test leaves open: it would act on the SIM of the next test. A cancel, because a run that is
  // terminated during an activity keeps the server from skipping time.
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') return
    harness.model.pending.clear()
    harness.model.processing.clear()
    harness.model.outages = 0
    harness.model.before = async () => {}
    await harness.workflowClient.cancel(id).catch(() => undefined)
    await run.result().catch(() => undefined)
  })
  beforeEach(async () => {
    harness.model.sims.set(1, aSim())
    cycle += 1
    id = startOf().workflowId
    endsAt = (await harness.env.currentTimeMs()) + 31 * DAY
  })

  const startOf = (more: Partial<SuspendOnOverageInput> = {}) => {
    const cycleEndsAt = new Date(endsAt).toISOString()
    return aSuspension(1, `c${cycle}`, { cycleEndsAt, rule: 'sim-overage', ...more })
  }
  let updates = 0
  const run = {
    harness,
    get model() {
      return harness.model
    },
    get id() {
      return id
    },
    /** The cycle's end, in epoch milliseconds. */
    get endsAt() {
      return endsAt
    },
    inputOf: (more: Partial<SuspendOnOverageInput> = {}) => startOf(more).input,
    start: (signal: SuspendSignal, more: Partial<SuspendOnOverageInput> = {}) =>
      harness.workflowClient.signalWithStart({ ...startOf(more), signal }),
    /** Starts it over the limit. @returns its state in this phase */
    reach: async (phase: string, more: Partial<SuspendOnOverageInput> = {}) => {
      await run.start('overLimit', more)
      return await run.until(phase)
    },
    /** Starts it over the limit, and keeps its suspend ticket there until the model's set is cleared. */
    startHeld: async (at: 'pending' | 'processing') => {
      harness.model[at].add('suspend')
      await run.start('overLimit')
      await soon(() => expect(run.tickets()).toEqual([at === 'pending' ? 'suspend:0' : 'suspend:1']))
    },
    signal: (name: SuspendSignal) => harness.workflowClient.signal(id, name),
    /** Sends an update. Default: a new id for each. */
    update: async <Name extends keyof SuspendUpdates>(
      name: Name,
      args: SuspendUpdates[Name],
      updateId = `u${updates++}`,
    ) => (await harness.workflowClient.update(id, name, args, updateId)) as SuspendUpdateResult,
    until: async (phase: string) => (await harness.untilState(id, { phase })) as SuspendOnOverageState,
    state: async () => (await harness.handleOf(id).query('state')) as SuspendOnOverageState,
    result: (): Promise<SuspendOnOverageResult> => harness.handleOf(id).result(),
    cancel: () => harness.workflowClient.cancel(id),
    actions: () => harness.model.actionsOf(`c${cycle}`),
    sim: () => harness.model.sims.get(1),
    tickets: () => harness.model.ticketsOf(1),
  }
  return run
}
