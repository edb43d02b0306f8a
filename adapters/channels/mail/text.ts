/** The plain text part of each kind of mail. It has the same content as the HTML part. */
import type { DigestGroup, DigestView } from './digest-view.ts'
import type { Offer } from './links.ts'
import type { AlertView, Line, SignInView, SummaryView } from './views.ts'

const paragraphs = (parts: readonly (string | null)[]): string =>
  `${parts.filter((part) => part !== null && part !== '').join('\n\n')}\n`

const lineText = ({ label, value }: Line): string => `${label}: ${value}`

const list = (items: readonly string[], more: string | null = null): string =>
  [...items.map((item) => `- ${item}`), ...(more === null ? [] : [`  ${more}`])].join('\n')

/** A heading over a list; null if the list is empty. */
const section = (heading: string, items: readonly string[], more: string | null = null): string | null =>
  items.length === 0 ? null : `${heading}\n${list(items, more)}`

const choices = (offers: readonly Offer[]): (string | null)[] =>
  offers.map((offer) => {
    const lines = offer.choices.map(({ label, url }) => `${label}: ${url}`)
    return [...(offer.about === null ? [] : [offer.about]), ...lines].join('\n')
  })

const footer = (tenant: string): string => `-- \nSimherd for ${tenant}`

export function alertText(view: AlertView, offers: readonly Offer[]): string {
  return paragraphs([
    `${view.badge}: ${view.headline}${view.more === '' ? '' : `\n${view.more}`}`,
    view.lines.map(lineText).join('\n'),
    section('Why', view.why),
    [`Rule: ${view.rule}`, ...(view.advice === null ? [] : [view.advice])].join('\n'),
    ...choices(offers),
    footer(view.tenant),
  ])
}

export const signInText = (view: SignInView): string =>
  paragraphs([
    view.asked,
    `${view.byLink}\n${view.url}`,
    `${view.byCode} ${view.codeUrl}\n${view.code}`,
    view.ends,
    footer(view.tenant),
  ])

export function digestText(view: DigestView, offers: readonly Offer[]): string {
  const groups = view.groups.map(groupText)
  return paragraphs([`${view.headline}\n${view.counts}`, ...groups, view.more, ...choices(offers), footer(view.tenant)])
}

function groupText(group: DigestGroup): string {
  const rows = group.rows.map(({ label, message, detail }) => `${label}: ${message}\n  ${detail}`)
  const next = group.next.map((sentence) => `What happens next: ${sentence}`)
  const origin = group.origin === null ? '' : ` (${group.origin})`
  return [
    `${group.badge}: ${group.title}${origin}: ${group.size}`,
    list(rows, group.more),
    ...next,
    ...group.advice,
  ].join('\n')
}

export function summaryText(view: SummaryView, offers: readonly Offer[]): string {
  const pools = view.pools.map(
    ({ name, usage, over, charge }) => `${name}: ${usage}, over by ${over}, charge ${charge}`,
  )
  const failures = view.failures.map(({ iccid, what, reason }) => `${iccid}: ${what}: ${reason}`)
  return paragraphs([
    `${view.headline}\n${view.period}`,
    view.lines.map(lineText).join('\n'),
    section('What failed', failures, view.moreFailures),
    section('Pools', pools, view.morePools),
    view.attachment === null ? null : `The statement is attached: ${view.attachment}`,
    ...choices(offers),
    footer(view.tenant),
  ])
}
