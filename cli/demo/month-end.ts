/** The month end, started by the tenant's Schedule when the cycle ends; and the end of all work that is under way. */
import { setTimeout as sleep } from 'node:timers/promises'
import { counted } from '../../domain/quantity.ts'
import { monthEndId } from '../../domain/temporal/ids.ts'
import { wordsOf } from '../failures.ts'
import type { Reporter } from '../reporter.ts'
import { ProblemResponse, responseOf } from '../service.ts'
import type { Play } from './prepare.ts'
import type { Mapping } from './progress.ts'

const LOOK_EVERY_MS = 1000
/** The Schedule starts it within seconds. A worker that was away may take longer. */
const MONTH_END_MS = 180_000
const SETTLE_MS = 60_000

const clock = (at: number) => `${new Date(at).toISOString().slice(11, 19)} UTC`

/**
 * Waits for the end of the cycle and of its month end.
 *
 * @throws Error if the month end does not complete
 */
export async function awaitMonthEnd(
  play: Play,
  { cycle }: Mapping,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  if (Date.now() < cycle.endsAt) {
    await reporter.step(
      { doing: `waiting for the end of the cycle at ${clock(cycle.endsAt)}`, done: 'the cycle has ended' },
      async () => {
        await sleep(Math.max(0, cycle.endsAt - Date.now()), undefined, { signal })
      },
    )
  }
  const id = monthEndId(play.progress.tenantId, cycle.key)
  const status = await reporter.step(
    { doing: 'month end', done: 'month end: changes applied, suspended SIMs back, statement made' },
    (note) =>
      poll(MONTH_END_MS, signal, async () => {
        const run = await readRun(play, id)
        note(run?.step ?? run?.status ?? 'the Schedule has not started it yet')
        return run === undefined || run.status === 'running' ? undefined : run.status
      }),
  )
  if (status !== 'completed') throw new Error(`the month end ${id} is ${status ?? 'not there'}: look at its workflow`)
}

interface MonthEndSeen {
  readonly status: string
  /** The step that the run reports for itself. */
  readonly step: string | undefined
}

async function readRun({ internal }: Play, id: string): Promise<MonthEndSeen | undefined> {
  try {
    const workflow = internal.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId: id } } })
    const { status, state } = await responseOf(workflow)
    const step: unknown = Object(state).step
    return { status, step: typeof step === 'string' ? step : undefined }
  } catch (error) {
    if (error instanceof ProblemResponse && error.status === 404) return undefined
    throw error
  }
}

/**
 * Waits until no tickets or mails are in progress any more, and after a month end no workflows. One minute at the most.
 */
export async function awaitRest(play: Play, reporter: Reporter, signal: AbortSignal): Promise<void> {
  const step = { doing: 'the last tickets and e-mails', done: 'nothing is under way any more' }
  const wait = reporter.step(step, async (note) => {
    const done = await poll(SETTLE_MS, signal, async () => {
      const left = await underWay(play)
      note(left.map(([what, n]) => counted(n, what)).join(', '))
      return left.length === 0 ? true : undefined
    })
    if (done === undefined) throw new Error('not everything has ended within a minute')
  })
  await wait.catch((error: unknown) => {
    if (signal.aborted) throw error
    reporter.warn(`${wordsOf(error)}; the figures are as they are now`)
  })
}

/** What is under way, without what is not. */
async function underWay({ internal, script }: Play): Promise<[what: string, count: number][]> {
  const { ticketsByStatus, mailsByStatus, due } = await responseOf(internal.GET('/internal/counts'))
  const running = { params: { query: { status: 'running', pageSize: 1 } } } as const
  const workflows = await responseOf(internal.GET('/internal/workflows', running))
  const counts: [string, number][] = [
    // Workflows of suspended SIMs wait for the renewal.
    ['workflow', script.hasMonthEnd ? workflows.pagination.totalItems : 0],
    ['ticket', (ticketsByStatus['Pending'] ?? 0) + (ticketsByStatus['Processing'] ?? 0)],
    ['e-mail', (mailsByStatus['pending'] ?? 0) + due.notices],
    ['request', due.requests],
  ]
  return counts.filter(([, count]) => count > 0)
}

/** @returns undefined if there was no result in time */
async function poll<T>(
  withinMs: number,
  signal: AbortSignal,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; ) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
  return undefined
}
