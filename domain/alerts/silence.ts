/** Silences: for a while, a person stops mails of alerts. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import { pageQuery } from '../page.ts'
import { Id, Instant, KeyName, nullable, objectWithExample, optional, strictObject, Text, TimeZone } from '../schema.ts'
import { DURATION_PATTERN } from '../time/duration.ts'
import { WeekTime } from './week-times.ts'

export const LONGEST_SILENCE_MS = 90 * 86_400_000
/** Most silences of a tenant at a time: each look goes through all of them. */
export const MOST_SILENCES = 200

const rule = Text('Name of the rule; * stands for any characters', 'sim-usage-warning', {
  minLength: 1,
  maxLength: 100,
})
const tag = Text('Tag of the SIM; * stands for any characters', 'meter-*', { minLength: 1, maxLength: 128 })
const level = codeSchema(LogLevel, 'Level of the rule')
const POOL = 'The pool, and the SIMs in it'
const times = Type.Array(WeekTime, {
  minItems: 1,
  maxItems: 20,
  description: 'Times of the week at which it holds; left out, or null: all',
})
const timeZone = TimeZone('IANA name of the time zone of `times`; left out: that of the tenant')
const reason = Text('Reason, for later readers', 'Meters are replaced until Friday', {
  minLength: 1,
  maxLength: 500,
})

export const NewSilence = objectWithExample(
  {
    rule: optional(rule),
    simId: optional(Id('The SIM')),
    poolId: optional(Id(POOL)),
    tag: optional(tag),
    level: optional(level),
    endsAt: optional(
      Instant(
        'End, at most 90 days ahead; give this or `lasts`. With `times` it may be later, or left out: it has no end',
      ),
    ),
    lasts: optional(
      Type.String({
        pattern: `${DURATION_PATTERN}|^cycle$`,
        maxLength: 40,
        description:
          'How long it lasts, at most P90D, or `cycle`: to the end of the billing cycle; either this or `endsAt`',
        examples: ['P2D'],
      }),
    ),
    times: optional(times),
    timeZone: optional(timeZone),
    reason,
  },
  { poolId: 7, lasts: 'P2D', reason: 'Meters are replaced until Friday' },
)
export type NewSilence = Static<typeof NewSilence>

export const Silence = strictObject({
  id: Id('Silence'),
  rule: nullable(rule),
  simId: nullable(Id('The SIM')),
  poolId: nullable(Id(POOL)),
  tag: nullable(tag),
  level: nullable(level),
  times: nullable(times),
  timeZone: nullable(timeZone),
  reason,
  createdAt: Instant('Start of the silence'),
  createdBy: nullable(Text('Actor that created it', 'key:6a34354728b4')),
  createdByName: KeyName,
  endsAt: nullable(Instant('Planned end of the silence; null: it has none')),
  endedAt: nullable(Instant('Time when a person ended it; null: it lasts until `endsAt`')),
  endedBy: nullable(Text('Actor that ended it', 'key:6a34354728b4')),
  endedByName: KeyName,
})
export type Silence = Static<typeof Silence>

export const SilenceQuery = Type.Object({
  open: Type.Optional(Type.Boolean({ description: 'true: only open silences; false: only ended ones' })),
  ...pageQuery,
})
export type SilenceQuery = Static<typeof SilenceQuery>
