/**
 * Notices that the server that skips time stands still, which is no failure of what is tested: no timer fires and no
 * task is handed out, though something is open. It is known to come about in two ways. The server answers a workflow
 * task with “invalid history builder state for action”, and its run gets no task any more. Or time skipping stays locked.
 *
 * It must not be taken for a wait on something real. So nothing at all may happen for several looks: no event in any
 * open run, no leap. An activity in flight is real, whatever it waits for. Workers must be there all the time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import proto, { type temporal } from '@temporalio/proto'
import type { TestWorkflowEnvironment } from '@temporalio/testing'

/** How the message of the error begins. */
export const STANDS_STILL = 'the test server stands still'

/** More than ten seconds: a workflow task that was handed out and is lost times out after ten. */
const LOOKS = 5
const LOOK_EVERY_MS = 3000
/** A look at many runs costs so much that it is followed by so many times its length. */
const REST = 10
/** The server's time is known this well, in milliseconds, apart from the length of the request. */
const CLOCK_MS = 1000

const { EventType, WorkflowExecutionStatus } = proto.temporal.api.enums.v1

/** An event of a run's history. */
export interface Happened {
  readonly id: number
  readonly type: temporal.api.enums.v1.EventType
  /** Of a timer's events. */
  readonly timerId?: string
  /** When a timer that is started here is due, in epoch milliseconds. */
  readonly dueAt?: number
}

/** An open run. */
export interface OpenRun {
  readonly workflowId: string
  readonly events: readonly Happened[]
  /** How many of its activities are in flight, or wait for their next attempt. */
  readonly activities: number
  /** Whether it is over, and open only by the server's bug (skipping-server.ts). */
  readonly isOver: boolean
}

/** Events after which a run gets a workflow task. */
const WAKES: ReadonlySet<number> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
  EventType.EVENT_TYPE_TIMER_FIRED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
])
const TASK_EVENTS: Readonly<Record<number, 'scheduled' | 'started' | 'done' | 'again'>> = {
  [EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED]: 'scheduled',
  [EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED]: 'started',
  [EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED]: 'done',
  // Further attempts have no events.
  [EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED]: 'again',
  [EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT]: 'again',
}

/** What a run waits for. */
function openIn({ events, activities }: OpenRun) {
  const task = events.findLast(({ type }) => TASK_EVENTS[type] !== undefined)
  const state = task === undefined ? 'done' : TASK_EVENTS[task.type]
  const woken = events.find(({ id, type }) => id > (task?.id ?? 0) && WAKES.has(type))
  const timers = new Map<string, number>()
  for (const { type, timerId = '', dueAt = 0 } of events) {
    if (type === EventType.EVENT_TYPE_TIMER_STARTED) timers.set(timerId, dueAt)
    else timers.delete(timerId)
  }
  const lost =
    state === 'scheduled' || state === 'started'
      ? `workflow task ${state} at event ${task?.id}`
      : state === 'done' && woken !== undefined
        ? `no workflow task after event ${woken.id}`
        : undefined
  return { lost, isReal: activities > 0 || state === 'again', timers }
}

/**
 * Whether the server stands still, if nothing at all has happened for a while.
 *
 * @param isSkipping whether somebody waits with time skipping unlocked
 * @param now the server's time, in epoch milliseconds
 * @returns what is open, in words; undefined if it may go on
 */
export function standstillOf(runs: readonly OpenRun[], isSkipping: boolean, now: number): string | undefined {
  const all = runs.map((run) => ({ ...run, ...openIn(run) }))
  const running = all.filter(({ isOver }) => !isOver)
  const overdue = now - LOOKS * LOOK_EVERY_MS
  const stands =
    running.some(({ lost }) => lost !== undefined) ||
    (!running.some(({ isReal }) => isReal) &&
      (isSkipping || running.some(({ timers }) => [...timers.values()].some((dueAt) => dueAt < overdue))))
  if (!stands) return undefined
  const words = all.map(({ workflowId, lost, timers, activities }) => {
    const due = [...timers].map(([id, dueAt]) => `timer ${id} due at ${new Date(dueAt).toISOString()}`)
    const open = [lost ?? [], due, activities > 0 ? `${activities} activities` : []].flat()
    return `${workflowId} ${open.length === 0 ? 'nothing' : open.join(', ')}`
  })
  return words.length === 0 ? 'nothing' : words.join('; ')
}

export interface Watch {
  /** Makes a call that waits for skipped time. @throws Error that begins with {@link STANDS_STILL}, as soon as it does */
  readonly skipping: <T>(call: () => Promise<T>) => Promise<T>
  readonly stop: () => Promise<void>
}

/**
 * Looks for a standstill until it is stopped.
 *
 * @param onStandstill called once, with an error that begins with {@link STANDS_STILL}
 */
export function watchStandstill(
  env: TestWorkflowEnvironment,
  onStandstill: (error: Error) => void,
  lookEveryMs = LOOK_EVERY_MS,
): Watch {
  const stopping = new AbortController()
  const stood = Promise.withResolvers<never>()
  stood.promise.catch(() => undefined)
  let skipping = 0
  const watch = async () => {
    let before: Look | undefined
    let same = 0
    while (!stopping.signal.aborted) {
      const began = performance.now()
      // It fails if a run ends meanwhile: then something happens.
      const now = await look(env).catch(() => undefined)
      same = before !== undefined && now !== undefined && isSame(before, now) ? same + 1 : 0
      before = now
      if (now !== undefined && same >= LOOKS - 1) {
        const runs = await readRuns(env, now).catch(() => undefined)
        const open = runs && standstillOf(runs, skipping > 0, now.serverNow)
        if (open !== undefined && isSame(now, await look(env).catch(() => undefined))) {
          const error = new Error(`${STANDS_STILL}: no timer fires and no task is handed out; open: ${open}`)
          stood.reject(error)
          return onStandstill(error)
        }
      }
      const pauseMs = Math.max(lookEveryMs, REST * (performance.now() - began))
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = watch()
  return {
    skipping: async (call) => {
      skipping += 1
      try {
        return await Promise.race([call(), stood.promise])
      } finally {
        skipping -= 1
      }
    },
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

/** What is open at an instant. */
interface Look {
  readonly serverNow: number
  /** How far the server's time is ahead, in milliseconds, and how far off that may be. */
  readonly aheadMs: number
  readonly offMs: number
  readonly runs: readonly {
    readonly workflowId: string
    readonly runId: string
    readonly length: number
    readonly activities: number
    readonly isOver: boolean
  }[]
}

const isSame = (one: Look, other: Look | undefined): boolean =>
  other !== undefined &&
  Math.abs(one.aheadMs - other.aheadMs) < CLOCK_MS + one.offMs + other.offMs &&
  JSON.stringify(one.runs) === JSON.stringify(other.runs)

async function look(env: TestWorkflowEnvironment): Promise<Look> {
  const { connection, namespace = 'default' } = env
  const server = connection.workflowService
  const sentAt = Date.now()
  const serverNow = await env.currentTimeMs()
  const offMs = Date.now() - sentAt
  const { executions } = await server.listOpenWorkflowExecutions({ namespace, maximumPageSize: 10_000 })
  const runs = []
  for (const { execution } of executions) {
    const { workflowId, runId } = execution ?? {}
    if (!workflowId || !runId) continue
    const { workflowExecutionInfo: info, pendingActivities } = await server.describeWorkflowExecution({
      namespace,
      execution: { workflowId, runId },
    })
    const isOver = info?.status !== WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING
    runs.push({ workflowId, runId, length: Number(info?.historyLength), activities: pendingActivities.length, isOver })
  }
  return { serverNow, aheadMs: serverNow - sentAt, offMs, runs }
}

async function readRuns({ connection, namespace = 'default' }: TestWorkflowEnvironment, { runs }: Look) {
  const read: OpenRun[] = []
  for (const { workflowId, runId, activities, isOver } of runs) {
    const execution = { workflowId, runId }
    const { history } = await connection.workflowService.getWorkflowExecutionHistory({ namespace, execution })
    read.push({ workflowId, activities, isOver, events: (history?.events ?? []).map(happened) })
  }
  return read
}

const seconds = (time: { seconds?: unknown; nanos?: number | null } | null | undefined) =>
  Number(time?.seconds ?? 0) + (time?.nanos ?? 0) / 1e9

function happened(event: temporal.api.history.v1.IHistoryEvent): Happened {
  const { eventId, eventType, eventTime, timerStartedEventAttributes: started } = event
  const timerId =
    started?.timerId ?? event.timerFiredEventAttributes?.timerId ?? event.timerCanceledEventAttributes?.timerId
  return {
    id: Number(eventId),
    type: eventType ?? EventType.EVENT_TYPE_UNSPECIFIED,
    ...(timerId == null ? {} : { timerId }),
    ...(started == null ? {} : { dueAt: (seconds(eventTime) + seconds(started.startToFireTimeout)) * 1000 }),
  }
}
