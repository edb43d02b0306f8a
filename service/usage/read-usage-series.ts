/** Reads usage over time, in steps. */
import { ServiceError } from '../../domain/errors.ts'
import { bucketMs } from '../../domain/time/cycle.ts'
import {
  LONGEST_SERIES_MS,
  MOST_STEPS,
  STEPS,
  type UsageSeries,
  type UsageSeriesQuery,
} from '../../domain/usage/usage-series.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { tenantSettings } from './rows/cycles.ts'
import { MOST_READ, usageSums } from './rows/usage-series.ts'

/**
 * The usage of a known SIM, a known pool or the tenant. Pools and the tenant have time buckets of `bucketMs`, each
 * counted in the step in which it begins.
 *
 * @throws ServiceError `invalid_request` for a span or a step that would take too long to read
 */
export async function readUsageSeries(
  tx: TenantTx,
  subject: Subject,
  { from, to, step }: Omit<UsageSeriesQuery, 'simId' | 'poolId'>,
): Promise<UsageSeries> {
  const stepMs = STEPS[step]
  const [start, end] = [Date.parse(from), Date.parse(to)]
  if (!(start < end && end - start <= LONGEST_SERIES_MS))
    throw wrong('to', `got ${to}, expected an instant after from (${from}), at most 31 days later`)
  const first = Math.floor(start / stepMs)
  const count = Math.ceil(end / stepMs) - first
  if (count > MOST_STEPS)
    throw wrong(
      'step',
      `got ${step}, which makes ${count} steps, expected at most ${MOST_STEPS}: longer steps, or a shorter span`,
    )
  const widthMs = subject.kind === 'sim' ? 0 : bucketMs((await tenantSettings(tx)).billingCycle)
  if (widthMs > stepMs)
    throw wrong(
      'step',
      `got ${step}, expected at least ${widthMs / 1000} s: in this billing cycle usage is kept by that`,
    )
  const span = { from: new Date(first * stepMs), to: new Date((first + count) * stepMs), stepMs }
  const sums = await usageSums(tx, subject, span)
  if (sums === undefined)
    throw wrong(
      'to',
      `got ${to}, expected a shorter span: this one has more than ${MOST_READ} records or buckets to read`,
    )
  const byStart = new Map(sums.map((sum) => [sum.at, sum]))
  const points = Array.from({ length: count }, (_, n) => {
    const at = (first + n) * stepMs
    const { bytes = 0, voiceSeconds = 0, smsCount = 0 } = byStart.get(at) ?? {}
    return { at: new Date(at).toISOString(), bytes, voiceSeconds, smsCount }
  })
  return { step, points }
}

const wrong = (parameter: string, detail: string): ServiceError =>
  new ServiceError('invalid_request', `${parameter}: ${detail}.`, { errors: [{ parameter, detail }] })
