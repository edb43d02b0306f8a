/** Settings of a tenant for mails and for the watch over its usage feed. Source: internal interface. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import type { FieldError } from '../errors.ts'
import { zoneFault } from '../local-time.ts'
import { nullable, objectWithExample, TimeZone } from '../schema.ts'
import { DURATION_PATTERN, durationMs } from '../time/duration.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

const Duration = (description: string, example: string) =>
  Type.String({ pattern: DURATION_PATTERN, maxLength: 40, description, examples: [example] })

export const NoticeSettings = objectWithExample(
  {
    timeZone: TimeZone('IANA name of the time zone in which mails show instants'),
    feedEvery: Duration(
      'How often usage is received, PT1M to P31D. The feed counts as stale after one and a half times as long.',
      'P1D',
    ),
    escalateAfter: nullable(
      Duration(
        'A Critical alert that nobody has acknowledged is escalated after this long, PT1M to P7D; null: never',
        'PT30M',
      ),
    ),
    mailsFrom: codeSchema(LogLevel, 'Summaries of billing cycles are always mailed. Lowest level of mailed alerts'),
  },
  { timeZone: 'Europe/Berlin', feedEvery: 'P1D', escalateAfter: 'PT30M', mailsFrom: 0 },
)
export type NoticeSettings = Static<typeof NoticeSettings>

/** Checks beyond the schema: the time zone is known, and the durations are in range. Pure. */
export function wrongFieldsOf({ timeZone, feedEvery, escalateAfter }: NoticeSettings): FieldError[] {
  const wrong: FieldError[] = []
  const wrongZone = zoneFault(timeZone)
  if (wrongZone !== undefined) wrong.push({ pointer: '/timeZone', detail: wrongZone })
  if (!isWithin(feedEvery, 31)) wrong.push({ pointer: '/feedEvery', detail: `got ${feedEvery}, expected PT1M to P31D` })
  if (escalateAfter !== null && !isWithin(escalateAfter, 7)) {
    wrong.push({ pointer: '/escalateAfter', detail: `got ${escalateAfter}, expected PT1M to P7D, or null` })
  }
  return wrong
}

function isWithin(duration: string, mostDays: number): boolean {
  const ms = durationMs(duration)
  return ms >= MINUTE_MS && ms <= mostDays * DAY_MS
}
