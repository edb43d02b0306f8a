/** Words and links of billing cycles, for the pages of the month end and every page that names one. */
import { html } from 'hono/html'
import { ServiceError } from '../../../domain/errors.ts'
import { cycleName } from '../../../domain/local-time.ts'
import type { CycleInfo } from '../../../domain/month-end/month-end.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { badge } from '../../parts/marks.ts'

/** @throws ServiceError `cycle_not_found`, `forbidden` */
export async function readCycle({ inside }: Calls, key: string): Promise<CycleInfo> {
  const cycle = (await mustAnswer(inside.GET('/internal/cycles'))).find((one) => one.key === key)
  if (cycle === undefined) throw new ServiceError('cycle_not_found', `The tenant has no recent billing cycle ${key}.`)
  return cycle
}

export const nameOf = (cycle: CycleInfo): string => cycleName(cycle, 'UTC')

export const cycleLink = (tenantId: string, key: string, words = key): Html =>
  html`<a href="/t/${tenantId}/month/${encodeURIComponent(key)}"><bdi>${words}</bdi></a>`

type Phase = 'open' | 'ended' | 'closed'
/** @param now epoch milliseconds */
export const phaseOf = ({ endsAt, closedAt }: CycleInfo, now: number): Phase =>
  closedAt !== null ? 'closed' : now < Date.parse(endsAt) ? 'open' : 'ended'

const PHASES: Readonly<Record<Phase, readonly [IconName, string, string]>> = {
  open: ['next', 'quiet', 'Open'],
  ended: ['history', 'warning', 'Ended, not closed'],
  closed: ['check', 'good', 'Closed'],
}
export const phaseBadge = (cycle: CycleInfo, now: number): Html => {
  const [name, tone, words] = PHASES[phaseOf(cycle, now)]
  return badge(tone, words, name)
}
