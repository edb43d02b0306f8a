/** Words of silences, for their list and pages. */
import { html } from 'hono/html'
import type { Silence } from '../../../domain/alerts/silence.ts'
import { inWords } from '../../../domain/alerts/week-times.ts'
import { LogLevel, labelOf } from '../../../domain/codes.ts'
import type { Html } from '../../parts/html.ts'
import { actorMark, instantMark } from '../../parts/marks.ts'

/** @param now epoch milliseconds */
export const hasEnded = ({ endedAt, endsAt }: Silence, now: number): boolean =>
  endedAt !== null || (endsAt !== null && Date.parse(endsAt) <= now)

export const author = ({ createdBy, createdByName }: Silence): Html => actorMark(createdByName, createdBy)

/** The alerts that a silence is about: `Rule sim-overage, SIM 17`. */
export function coverWords({ rule, simId, poolId, tag, level }: Silence): Html {
  const parts = [
    ...(rule === null ? [] : [html`Rule <bdi>${rule}</bdi>`]),
    ...(simId === null ? [] : [html`SIM ${simId}`]),
    ...(poolId === null ? [] : [html`Pool ${poolId} and its SIMs`]),
    ...(tag === null ? [] : [html`Tag <bdi>${tag}</bdi>`]),
    ...(level === null ? [] : [html`${labelOf(LogLevel, level)}`]),
  ]
  return html`${parts.map((part, n) => html`${n === 0 ? '' : ', '}${part}`)}`
}

/** Its planned end, or the one that a person has brought about. */
export function endWords({ endsAt, endedAt, endedBy, endedByName }: Silence): Html {
  if (endedAt !== null) return html`Ended ${instantMark(endedAt)} by ${actorMark(endedByName, endedBy)}`
  return endsAt === null ? html`Until a person ends it` : html`Until ${instantMark(endsAt)}`
}

export const silenceFacts = (silence: Silence): (readonly [string, Html | string])[] => [
  ['Alerts', coverWords(silence)],
  ['Reason', html`<bdi>${silence.reason}</bdi>`],
  ['By', author(silence)],
  ['Since', instantMark(silence.createdAt)],
  ['End', endWords(silence)],
  ...(silence.times === null ? [] : [['At', `${inWords(silence.times)}, ${silence.timeZone ?? 'UTC'}`] as const]),
]
