/** A dry run of the month end: answers all it would do and changes nothing. */
import type { LifecycleView, MonthEndPlanInput } from '../domain/temporal/lifecycle.ts'
import { slow } from './run/activities.ts'
import { answerState, openDiary, showState } from './run/timeline.ts'

/** Where a dry run stands. */
interface PlanState extends LifecycleView {
  readonly step: 'planning' | 'done'
}

export async function monthEndPlan(input: MonthEndPlanInput): Promise<unknown> {
  const diary = openDiary()
  let step: PlanState['step'] = 'planning'
  answerState((): PlanState => ({ step, ...diary.read() }))
  diary.waits({
    what: 'the plan',
    until: null,
    why: `the service goes through the estate and adds up what cycle ${input.cycleKey} comes to`,
  })
  const plan = await slow.readPlan(input)
  diary.done('plan', 'read, it is in the result; nothing was changed')
  diary.waits(null)
  step = 'done'
  showState(step)
  return plan
}
