/** A dry run of the month end: lists all it would do and changes nothing. */
import type { MonthEndPlanInput } from '../domain/lifecycle.ts'
import { slow } from './calls.ts'
import { answerState } from './visibility.ts'

export async function monthEndPlan(input: MonthEndPlanInput): Promise<unknown> {
  let step = 'planning'
  answerState(() => ({ step }))
  const plan = await slow.readPlan(input)
  step = 'done'
  return plan
}
