/** Delivers the usage day by day, in the carrier's order of delivery. */

import { setTimeout as sleep } from 'node:timers/promises'
import { SimStatus } from '../../domain/codes.ts'
import { count, counted } from '../../domain/quantity.ts'
import { type Reporting, span } from '../reporter.ts'
import { delivered, responseOf } from '../service.ts'
import { deliveryTimes } from './mapping.ts'
import { newsOf } from './news.ts'
import { allOf } from './pages.ts'
import type { Play } from './prepare.ts'
import type { DemoProgress, Mapping } from './progress.ts'
import { asDelivery, type MadeUsage } from './usage.ts'

const DELIVER_EVERY_MS = 1000
/** Most records in one delivery, even if an interrupted demonstration has much to catch up on. */
const MOST_RECORDS = 2000
const REPORT_EVERY_MS = 5000
const DAY_MS = 86_400_000

/**
 * The due records: those after the posted ones, up to `now`, at most `most`.
 *
 * @returns their end, exclusive
 */
export function dueUpTo(times: readonly number[], posted: number, now: number, most: number): number {
  let end = posted
  while (end < times.length && end - posted < most && (times[end] ?? Number.POSITIVE_INFINITY) <= now) end += 1
  return end
}

/**
 * Delivers the rest of the usage, but none of suspended SIMs: their carrier lets no data through. Safe to interrupt and
 * repeat: a delivery that was taken in but not noted is sent again, and its records count once.
 */
export async function replayUsage(
  play: Play,
  usage: readonly MadeUsage[],
  mapping: Mapping,
  { reporter, signal }: Reporting,
): Promise<void> {
  const times = deliveryTimes(
    mapping,
    usage.map(({ at }) => at),
  )
  const news = await newsOf(play.api, reporter)
  let reached = await play.note({})
  let toldAt = Number.NEGATIVE_INFINITY
  while (reached.posted < usage.length) {
    signal.throwIfAborted()
    const end = dueUpTo(times, reached.posted, Date.now(), MOST_RECORDS)
    const due = usage.slice(reached.posted, end)
    if (due.length > 0) reached = await deliver(play, due, reached, { reporter, signal })
    const { posted } = reached
    if (performance.now() - toldAt > REPORT_EVERY_MS) {
      toldAt = performance.now()
      reporter.say(progress(usage.slice(0, posted), usage.length, mapping))
      await news()
    }
    const behind = (times[posted] ?? 0) <= Date.now()
    if (posted < usage.length && !behind) await sleep(DELIVER_EVERY_MS, undefined, { signal })
  }
  reporter.say(progress(usage, usage.length, mapping))
  await news()
  const { withheld } = reached
  if (withheld === 0) return
  const suspended = await suspendedSims(play)
  reporter.say(
    `${counted(withheld, 'record')} of ${counted(suspended.size, 'suspended SIM')} not delivered: a suspended SIM uses no data`,
  )
}

/** @returns the progress afterwards */
async function deliver(
  play: Play,
  due: readonly MadeUsage[],
  before: DemoProgress,
  { reporter, signal }: Reporting,
): Promise<DemoProgress> {
  const suspended = await suspendedSims(play)
  const sent = due.filter(({ record }) => !suspended.has(record.iccid))
  const { answered, withheld } = before
  const counts = { ...answered }
  if (sent.length > 0) {
    const { bytes, headers } = await asDelivery(sent)
    const csv = { body: '', ...delivered(bytes, headers), signal }
    const answer = await responseOf(play.internal.POST('/internal/usage', csv))
    const [fault] = answer.rejected
    if (fault !== undefined) {
      reporter.warn(`${counted(answer.rejectedCount, 'record')} rejected: ${fault.code}, ${fault.detail}`)
    }
    counts.accepted += answer.accepted
    counts.duplicates += answer.duplicates
    counts.rejected += answer.rejectedCount
  }
  return play.note({
    posted: before.posted + due.length,
    withheld: withheld + due.length - sent.length,
    answered: counts,
  })
}

async function suspendedSims({ api }: Play): Promise<ReadonlySet<string>> {
  const sims = await allOf((query) =>
    responseOf(api.GET('/api/sims', { params: { query: { ...query, status: SimStatus.Suspended } } })),
  )
  return new Set(sims.map(({ iccid }) => iccid))
}

function progress(posted: readonly MadeUsage[], all: number, { made, onto, delivery }: Mapping): string {
  const at = posted.reduce((latest, one) => Math.max(latest, one.at), onto.from)
  const days = (made.to - made.from) / DAY_MS
  const day = Math.min(days, 1 + Math.floor(((at - onto.from) / (onto.to - onto.from)) * days))
  const left = span(Math.max(0, delivery.to - Date.now()))
  return `day ${day} of ${days}  ${count(posted.length)} of ${count(all)} records, ${left} to go`
}
