/** Usage over time, in steps. */
import { type Static, Type } from 'typebox'
import { Id, Instant, oneOf, strictObject } from '../schema.ts'

export const STEPS = { P1D: 86_400_000, PT1H: 3_600_000, PT5M: 300_000 } as const

export const LONGEST_SERIES_MS = 31 * 86_400_000
/** Most steps of a series: 31 days in hours, 3 days in steps of 5 minutes. */
export const MOST_STEPS = 1000

const STEP = oneOf(['P1D', 'PT1H', 'PT5M'], 'Length of a step; days are days in UTC, as those of a billing cycle')

export const UsageSeriesQuery = Type.Object({
  simId: Type.Optional(Id('The SIM')),
  poolId: Type.Optional(Id('The pool')),
  from: Instant('Start; the step that contains it is the first'),
  to: Instant('End, at most 31 days later; the step that contains it is the last'),
  step: STEP,
})
export type UsageSeriesQuery = Static<typeof UsageSeriesQuery>

const sum = (description: string) => Type.Integer({ description: `${description}; corrections may make it negative` })

const UsageStep = strictObject({
  at: Instant('Start of the step'),
  bytes: sum('Bytes, up and down'),
  voiceSeconds: sum('Seconds of voice'),
  smsCount: sum('Messages'),
})

export const UsageSeries = strictObject({
  step: STEP,
  points: Type.Array(UsageStep, { description: 'Every step, also those without usage, in order' }),
})
export type UsageSeries = Static<typeof UsageSeries>
