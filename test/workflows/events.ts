/** What a run's history says. Unlike a query of the state, which can cost a workflow task, it may be read while a run is counted. */
import type proto from '@temporalio/proto'
import { expect } from 'vitest'
import { soon } from '../setup/soon.ts'

type History = proto.temporal.api.history.v1.IHistory

/** The names of its activities, in the order in which they were scheduled. */
export const activitiesIn = ({ events }: History): string[] =>
  (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [])

/** The names of the signals that have reached it. */
export const signalsIn = ({ events }: History): string[] =>
  (events ?? []).flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [])

/** How many of its workflow tasks were completed. */
export const tasksIn = ({ events }: History): number =>
  (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes).length

/** Waits until the last event of a run is of this kind. @returns its history */
export const untilLast = (
  run: { readonly fetchHistory: () => Promise<History> },
  kind: 'timerStarted' | 'workflowTaskCompleted' | 'workflowExecutionCompleted',
): Promise<History> =>
  soon(async () => {
    const history = await run.fetchHistory()
    expect(history.events?.at(-1)?.[`${kind}EventAttributes`]).toBeTruthy()
    return history
  })
