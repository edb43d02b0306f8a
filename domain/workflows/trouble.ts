/** Activities that fail again and again: reports of them by workers, and the list. */
import { type Static, Type } from 'typebox'
import { Pagination, pageQuery } from '../page.ts'
import { Count, Instant, nullable, strictObject } from '../schema.ts'

/** Most reports in one request. */
export const MOST_REPORTS = 500
/** Most bytes of a failure's text that is kept. */
export const MOST_DETAIL = 1000
/** Lists and figures look at so many activities, those that have retried the longest. */
export const MOST_LOOKED_AT = 1000
/** Most items of a page: Temporal is asked about each. */
export const MOST_LISTED = 50

const place = {
  workflowId: Type.String({ maxLength: 300, description: 'Id of the workflow' }),
  activityId: Type.String({ minLength: 1, maxLength: 100, description: "Id of the activity in the workflow's run" }),
}
const failure = {
  activity: Type.String({ maxLength: 100, description: 'Name of the activity', examples: ['openTicket'] }),
  attempt: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Number of the last failed attempt' }),
  code: Type.String({ maxLength: 100, description: "The service's stable code; timeout; internal_error" }),
  detail: Type.String({ maxLength: MOST_DETAIL, description: 'Text of the last failure' }),
  since: Instant('When the activity was scheduled; it has not succeeded since'),
  failedAt: Instant('When the last attempt failed'),
}

const FailingActivity = strictObject({ ...place, ...failure, nextAttemptAt: Instant('When the next attempt is due') })
export type FailingActivity = Static<typeof FailingActivity>
const EndedActivity = strictObject(place)
export type EndedActivity = Static<typeof EndedActivity>

const reports = { maxItems: MOST_REPORTS }
export const TroubleReport = strictObject({
  failing: Type.Array(FailingActivity, { ...reports, description: 'Activities whose last attempt failed' }),
  ended: Type.Array(EndedActivity, { ...reports, description: 'Activities that failed before, and have ended' }),
})
export type TroubleReport = Static<typeof TroubleReport>

export const TroubleQuery = Type.Object({
  page: pageQuery.page,
  pageSize: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MOST_LISTED, default: MOST_LISTED, description: 'Most items of the page' }),
  ),
})
export type TroubleQuery = Static<typeof TroubleQuery>

export const Trouble = strictObject({
  ...place,
  type: Type.String({ description: 'Type of the workflow' }),
  ...failure,
  nextAttemptAt: nullable(Instant('When the next attempt is due; null while an attempt runs')),
})
export type Trouble = Static<typeof Trouble>

export const Troubles = strictObject({
  data: Type.Array(Trouble, { description: 'Items of the page' }),
  pagination: Pagination,
  isChecked: Type.Boolean({
    description:
      'Whether Temporal was asked about each; false: it did not answer, and items are as workers reported them',
  }),
})
export type Troubles = Static<typeof Troubles>

/** Part of a tenant's status. */
export const retryFigures = {
  retryingWorkflows: Count(
    'Workflows with an activity that fails again and again, among the 1,000 longest retried ones',
  ),
  longestRetry: Type.Union([strictObject({ since: failure.since, detail: failure.detail }), Type.Null()], {
    description: 'The activity that has retried the longest; null: none retries',
  }),
}
