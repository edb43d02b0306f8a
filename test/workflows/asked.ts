/** What a recorded run asked for, and what it asks for under the code of today: the SDK's replay compares only names. */
import { defaultPayloadConverter } from '@temporalio/common'
import type proto from '@temporalio/proto'
import type { InjectedSinks } from '@temporalio/worker'
import type { AskedSinks } from './asked-interceptor.ts'

type History = proto.temporal.api.history.v1.IHistory
type Payloads = proto.temporal.api.common.v1.IPayloads | null | undefined

/** Arguments in JSON by what they are of: `activity 1 openNextTicket`. */
export type Asked = ReadonlyMap<string, string>

const argsOf = (input: Payloads) =>
  JSON.stringify((input?.payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload(payload)))

/**
 * Activities by the numbers that the SDK gives them, children by their ids, and what the next run begins with. How long
 * a timer runs is left out: one that runs goes on as it was started, so it may be another from one day to the next.
 */
export function askedIn(history: History): Asked {
  const asked = new Map<string, string>()
  for (const event of history.events ?? []) {
    const {
      activityTaskScheduledEventAttributes: activity,
      startChildWorkflowExecutionInitiatedEventAttributes: child,
      workflowExecutionContinuedAsNewEventAttributes: next,
    } = event
    if (activity) asked.set(`activity ${activity.activityId} ${activity.activityType?.name}`, argsOf(activity.input))
    if (child) asked.set(`child ${child.workflowId} ${child.workflowType?.name}`, argsOf(child.input))
    if (next) asked.set(`continue as new ${next.workflowType?.name}`, argsOf(next.input))
  }
  return asked
}

/** The workflow's id, which keys of steps begin with. */
export const idOf = (history: History): string => {
  const id = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId
  if (!id) throw new Error('the history does not say of which workflow it is')
  return id
}

/** Hears what a replay asks for. */
export function listening() {
  const asked = new Map<string, string>()
  const sinks: InjectedSinks<AskedSinks> = {
    asked: { command: { fn: (_info, of, args) => void asked.set(of, args), callDuringReplay: true } },
  }
  return { asked, sinks }
}

/** What is asked otherwise than it was: a line each. */
export const differences = (recorded: Asked, replayed: Asked): string[] =>
  [...recorded].flatMap(([of, args]) => {
    const now = replayed.get(of)
    return now === args ? [] : [`${of}: was ${args}, is ${now ?? 'not asked'}`]
  })
