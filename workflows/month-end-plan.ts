/** A dry run of the month end: returns all that it would do, and changes nothing. */

import type { MonthEndPlanInput } from '../domain/temporal/month-end-plan.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import { slow } from './run/activities.ts'
import { answerState, openTimeline, showState } from './run/timeline.ts'

/** The state of a dry run. */
interface PlanState extends Timeline {
  readonly step: 'planning' | 'done'
}

export async function monthEndPlan(input: MonthEndPlanInput): Promise<unknown> {
  const timeline = openTimeline()
  let step: PlanState['step'] = 'planning'
  answerState((): PlanState => ({ step, ...timeline.read() }))
  timeline.waits({
    what: 'the plan',
    until: null,
    why: `the service goes through the estate and adds up what cycle ${input.cycleKey} comes to`,
  })
  const plan = await slow.readPlan(input)
  timeline.done('plan', 'read, it is in the result; nothing was changed')
  timeline.waits(null)
  step = 'done'
  showState(step)
  return plan
}
