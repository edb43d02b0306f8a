/** The page of a link in a mail: plain HTML without scripts, which loads nothing. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import Handlebars from 'handlebars'
import type { LinkOutlook } from '../../service/channels/follow-link.ts'

interface Page {
  readonly title: string
  readonly sentences: readonly string[]
  readonly facts: readonly { readonly label: string; readonly value: string }[]
  /** Text of the button; left out: no action is left. */
  readonly button?: string
  /** How the operator of the service undoes it; left out: nothing was done. */
  readonly command?: { readonly before: string; readonly text: string }
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const style = read('page.css')
// All values are escaped but the style, which is ours. A name that a page lacks must fail here.
const template = Handlebars.compile<object>(read('page.hbs'), { strict: true })
const render = (page: Page): string => template({ button: null, command: null, ...page, style })

/** Headers of every page: it runs nothing, loads nothing but its own style, is in no frame, and sends no referrer. */
export const PAGE_HEADERS = {
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'content-type': 'text/html; charset=utf-8',
} as const

/** The page with the state of a link. */
export const outlookPage = (outlook: LinkOutlook): string => render(pageOf(outlook))

/** A page with the reason why nothing was done. */
export const refusalPage = (title: string, sentence: string): string =>
  render({ title, sentences: [sentence], facts: [] })

function pageOf(outlook: LinkOutlook): Page {
  switch (outlook.purpose) {
    case 'ack':
      return ackPage(outlook)
    case 'mute':
      return mutePage(outlook)
    case 'unsubscribe':
      return unsubscribePage(outlook)
  }
}

type Of<P extends LinkOutlook['purpose']> = Extract<LinkOutlook, { purpose: P }>

const ACKNOWLEDGED = 'It is not escalated until it ends and fires again. Mails and suspensions go on.'

function ackPage(outlook: Of<'ack'>): Page {
  const since = outlook.since === null ? [] : [{ label: 'Fires since', value: instant(outlook.since) }]
  const facts = [...factsOf(outlook), ...since]
  switch (outlook.status) {
    case 'open': {
      const sentences = [`This says that somebody has seen it. ${ACKNOWLEDGED}`]
      return { title: 'Acknowledge this alert?', sentences, facts, button: 'Acknowledge' }
    }
    case 'done':
      return { title: 'This alert is acknowledged', sentences: [ACKNOWLEDGED], facts }
    case 'over':
      return { title: 'This alert has ended', sentences: ['It no longer fires: there is nothing to do.'], facts }
  }
}

function mutePage(outlook: Of<'mute'>): Page {
  const { status, endsAt, cycle, silenceId, tenantId } = outlook
  const facts = factsOf(outlook)
  const quiet = [`Until ${instant(endsAt)} it is not mailed when this rule fires here. The log and suspensions go on.`]
  switch (status) {
    case 'open': {
      const button = 'Mail it no more in this cycle'
      return { title: 'Not again in this billing cycle?', sentences: quiet, facts, button }
    }
    case 'done': {
      const command = undoneBy(`silences end ${silenceId} --tenant ${tenantId}`)
      return { title: 'It is not mailed again in this billing cycle', sentences: quiet, facts, command }
    }
    case 'over': {
      const sentences = [`The billing cycle of this link, ${cycle}, has ended, or what it is about is gone.`]
      return { title: 'There is nothing left to silence', sentences, facts }
    }
  }
}

function unsubscribePage({ status, tenantId, tenantName }: Of<'unsubscribe'>): Page {
  const facts = [{ label: 'Tenant', value: tenantName }]
  if (status === 'open') {
    const sentences = ['Critical alerts and summaries of billing cycles are mailed all the same.']
    return { title: 'No more mails of alerts that are not critical?', sentences, facts, button: 'Unsubscribe' }
  }
  const sentences = ['Summaries of billing cycles are mailed all the same. The watchdog log has all alerts.']
  const command = undoneBy(`tenants notices --tenant ${tenantId} --mails-from info`)
  return { title: 'Only Critical alerts are mailed now', sentences, facts, command }
}

const NOUNS = { sim: 'SIM', pool: 'Pool' } as const

const factsOf = ({ tenantName, rule, subject }: Of<'ack' | 'mute'>): Page['facts'] => [
  ...(subject === null ? [] : [{ label: NOUNS[subject.kind], value: subject.label }]),
  { label: 'Rule', value: rule },
  { label: 'Tenant', value: tenantName },
]

const undoneBy = (command: string) => ({
  before: 'Whoever runs the service takes it back with:',
  text: `npx simherd ${command}`,
})

const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
