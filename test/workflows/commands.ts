/** Compares the commands of a recorded run with those of its replay, arguments included: the SDK compares only names. */
import { defaultPayloadConverter } from '@temporalio/common'
import type proto from '@temporalio/proto'
import type { InjectedSinks } from '@temporalio/worker'
import type { CommandSinks } from './commands-interceptor.ts'

type History = proto.temporal.api.history.v1.IHistory
type Payloads = proto.temporal.api.common.v1.IPayloads | null | undefined

/** The arguments of commands in JSON, by the command's name: `activity 1 openBothTickets`. */
export type Commands = ReadonlyMap<string, string>

const argsOf = (input: Payloads) =>
  JSON.stringify((input?.payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload(payload)))

/**
 * Activities by the SDK's sequence numbers, children by their ids, and the input of a continued run. Timers are left out:
 * a running timer keeps its duration, so code may change it.
 */
export function commandsOf(history: History): Commands {
  const commands = new Map<string, string>()
  for (const event of history.events ?? []) {
    const {
      activityTaskScheduledEventAttributes: activity,
      startChildWorkflowExecutionInitiatedEventAttributes: child,
      workflowExecutionContinuedAsNewEventAttributes: next,
    } = event
    if (activity) commands.set(`activity ${activity.activityId} ${activity.activityType?.name}`, argsOf(activity.input))
    if (child) commands.set(`child ${child.workflowId} ${child.workflowType?.name}`, argsOf(child.input))
    if (next) commands.set(`continue as new ${next.workflowType?.name}`, argsOf(next.input))
  }
  return commands
}

/** The workflow's id: the keys of its steps begin with it. */
export const idOf = (history: History): string => {
  const id = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId
  if (!id) throw new Error('the history does not say of which workflow it is')
  return id
}

/** @returns sinks for replays one after the other, and `take`: the commands added through them since it was last called */
export function collectCommands() {
  let commands = new Map<string, string>()
  const sinks: InjectedSinks<CommandSinks> = {
    commands: { add: { fn: (_info, name, args) => void commands.set(name, args), callDuringReplay: true } },
  }
  const take = (): Commands => {
    const taken = commands
    commands = new Map()
    return taken
  }
  return { take, sinks }
}

/** A line for each recorded command that is missing in the replay or has other arguments there. */
export const differences = (recorded: Commands, replayed: Commands): string[] =>
  [...recorded].flatMap(([name, args]) => {
    const now = replayed.get(name)
    return now === args ? [] : [`${name}: was ${args}, is ${now ?? 'missing'}`]
  })
