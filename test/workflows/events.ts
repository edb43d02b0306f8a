/** Facts from a run's history. Unlike a query of its state, reading it costs no workflow task. */
import type proto from '@temporalio/proto'
import { expect } from 'vitest'
import { soon } from '../setup/soon.ts'

type History = proto.temporal.api.history.v1.IHistory

/** The names of its activities, in order. */
export const activitiesIn = ({ events }: History): string[] =>
  (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [])

/** The names of its signals, in order. */
export const signalsIn = ({ events }: History): string[] =>
  (events ?? []).flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [])

/** The number of its completed workflow tasks. */
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
