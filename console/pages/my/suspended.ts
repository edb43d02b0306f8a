/** The SIMs that rules have suspended now, and why. */
import { html } from 'hono/html'
import type { Alert } from '../../../domain/alerts/alert.ts'
import type { SuspendingRules } from '../../../domain/enforcement/undo.ts'
import { instant } from '../../../domain/local-time.ts'
import { counted } from '../../../domain/quantity.ts'
import { dataOf, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { instantMark, line } from '../../parts/marks.ts'

/** Rules whose reasons are given: each takes a call. */
const MOST_RULES = 2
const MOST_REASONS = 5

type Rule = SuspendingRules['rules'][number] & { readonly reasons: readonly Alert[] }

/** The reasons are firing alerts: of the suspended SIMs, or of the pools that these are in. */
export async function readSuspended({ inside }: Calls): Promise<Part<Rule[]>> {
  const firing = tryAnswer(inside.GET('/internal/alerts', { params: { query: { phase: 'firing' } } }))
  const found = await tryAnswer(inside.GET('/internal/enforcement/suspending-rules'))
  if (found === null || 'missing' in found) return found
  const data = found.data.rules.map(async (of, n): Promise<Rule> => {
    if (n >= MOST_RULES) return { ...of, reasons: [] }
    const params = { query: { rule: of.rule, since: of.firstAt } }
    const page = dataOf(await tryAnswer(inside.GET('/internal/enforcement/suspensions', { params })))
    const simIds = new Set(page?.suspensions.filter(({ suspended }) => suspended).map(({ simId }) => simId))
    const isReason = ({ rule, subject: { kind, id } }: Alert) => rule === of.rule && (kind !== 'sim' || simIds.has(id))
    return { ...of, reasons: dataOf(await firing)?.data.filter(isReason) ?? [] }
  })
  return { data: await Promise.all(data) }
}

const ruleLine = ({ rule, sims, isWhole, firstAt, reasons }: Rule): Html => {
  const words = reasons.slice(0, MOST_REASONS).map(({ message, subject }) => message ?? subject.label ?? '')
  return line(
    'suspended',
    html`<strong>${counted(sims, 'SIM')}${isWhole ? '' : ' or more'}</strong> by rule <bdi>${rule}</bdi>, since ${instantMark(firstAt)}
${words.map((one) => html`<small><bdi>${one}</bdi></small>`)}${reasons.length > MOST_REASONS ? html`<small>and others</small>` : ''}`,
  )
}

/** @param sims the list of suspended SIMs, if the caller may open it */
export const suspendedList = (rules: readonly Rule[], endsAt: string, sims: string | null): Html =>
  rules.length === 0
    ? html`<p class="empty">None.</p>`
    : html`<ul class="log">
${rules.map(ruleLine)}
</ul>
<p>They come back when the next billing cycle begins, at ${instant(endsAt)}, or sooner by a person. One that a person keeps suspended stays so.${sims === null ? '' : html` <a href="${sims}">All suspended SIMs</a>`}</p>`
