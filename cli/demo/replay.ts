/** Step 2: delivers the month's usage as time passes, in the carrier's order of delivery. */

import { setTimeout as sleep } from 'node:timers/promises'
import { counted } from '../../domain/quantity.ts'
import { type Reporting, span } from '../reporter.ts'
import { delivered, responseOf } from '../service.ts'
import { deliveryTimes } from './mapping.ts'
import { newsOf } from './news.ts'
import type { Play } from './prepare.ts'
import type { Mapping } from './progress.ts'
import { asDelivery, type UsageRow } from './usage-file.ts'

const DELIVER_EVERY_MS = 1000
/** Most rows in one delivery, even if an interrupted demonstration has much to catch up on. */
const MOST_ROWS = 2000
const REPORT_EVERY_MS = 10_000

/**
 * The due rows: those after the posted ones, up to `now`, at most `most`.
 *
 * @returns the end of the rows, exclusive
 */
export function dueUpTo(times: readonly number[], posted: number, now: number, most: number): number {
  let end = posted
  while (end < times.length && end - posted < most && (times[end] ?? Number.POSITIVE_INFINITY) <= now) end += 1
  return end
}

/**
 * Delivers the rest of the file. Safe to interrupt and repeat: a delivery that was taken in but not noted is sent
 * again, and its records count once.
 */
export async function replayUsage(
  play: Play,
  rows: readonly UsageRow[],
  mapping: Mapping,
  { reporter, signal }: Reporting,
): Promise<void> {
  const times = deliveryTimes(
    mapping,
    rows.map(({ at }) => at),
  )
  const news = await newsOf(play.api, reporter)
  let { posted, answered } = await play.note({})
  let toldAt = Number.NEGATIVE_INFINITY
  while (posted < rows.length) {
    signal.throwIfAborted()
    const end = dueUpTo(times, posted, Date.now(), MOST_ROWS)
    if (end > posted) {
      const { bytes, headers } = await asDelivery(rows.slice(posted, end), mapping)
      const csv = { body: '', ...delivered(bytes, headers), signal }
      const answer = await responseOf(play.internal.POST('/internal/usage', csv))
      const [fault] = answer.rejected
      if (fault !== undefined)
        reporter.warn(`${counted(answer.rejectedCount, 'record')} rejected: ${fault.code}, ${fault.detail}`)
      answered = {
        accepted: answered.accepted + answer.accepted,
        duplicates: answered.duplicates + answer.duplicates,
        rejected: answered.rejected + answer.rejectedCount,
      }
      posted = end
      await play.note({ posted, answered })
    }
    if (performance.now() - toldAt > REPORT_EVERY_MS) {
      toldAt = performance.now()
      reporter.say(progress(posted, rows, mapping))
      await news()
    }
    const behind = (times[posted] ?? 0) <= Date.now()
    if (posted < rows.length && !behind) await sleep(DELIVER_EVERY_MS, undefined, { signal })
  }
  reporter.say(progress(posted, rows, mapping))
  await news()
}

function progress(posted: number, rows: readonly UsageRow[], mapping: Mapping): string {
  const row = rows[Math.max(0, posted - 1)]
  const day = row === undefined ? '' : new Date(row.at).toISOString().slice(0, 10)
  const left = Math.max(0, mapping.onto.to - Date.now())
  const percent = rows.length === 0 ? 100 : Math.floor((posted / rows.length) * 100)
  return `${day}  ${posted.toLocaleString('en-US')} of ${rows.length.toLocaleString('en-US')} records (${percent} %), ${span(left)} to go`
}
