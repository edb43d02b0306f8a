/** The page of a link in a mail: plain HTML without scripts, which loads nothing. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import Handlebars from 'handlebars'
import { LogLevel, labelOf } from '../../domain/codes.ts'
import type { LinkOutlook } from '../../service/channels/follow-link.ts'

interface Button {
  readonly text: string
  /** The query of the POST. */
  readonly action: string
}

interface Page {
  readonly title: string
  readonly sentences: readonly string[]
  readonly facts: readonly { readonly label: string; readonly value: string }[]
  /** Left out: no action is left. */
  readonly button?: Button
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const style = read('page.css')
// All values are escaped but the style, which is ours. A name that a page lacks must fail here.
const template = Handlebars.compile<object>(read('page.hbs'), { strict: true })
const render = (page: Page, monthUrl = ''): string => template({ button: null, ...page, monthUrl, style })

/** Headers of every page: it runs nothing, loads nothing but its own style, is in no frame, and sends no referrer. */
export const PAGE_HEADERS = {
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'content-type': 'text/html; charset=utf-8',
} as const

/** The page with the state of a link. @param monthUrl the month of its tenant in the console; empty: there is none */
export const outlookPage = (outlook: LinkOutlook, monthUrl: string): string => render(pageOf(outlook), monthUrl)

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

/** The query says so much, because the page of an undo has another one. */
const does = (text: string): Button => ({ text, action: '?' })
const undoes = (mailsFrom: LogLevel = LogLevel.Info): Button => ({ text: 'Take it back', action: `?undo=${mailsFrom}` })
const MUTE = does('Mail it no more in this cycle')
const UNSUBSCRIBE = does('Unsubscribe')

const ACKNOWLEDGED = 'It is not escalated until it ends and fires again. Mails and suspensions go on.'

function ackPage(outlook: Of<'ack'>): Page {
  const since = outlook.since === null ? [] : [{ label: 'Fires since', value: instant(outlook.since) }]
  const facts = [...factsOf(outlook), ...since]
  switch (outlook.status) {
    case 'open': {
      const sentences = [`This says that somebody has seen it. ${ACKNOWLEDGED}`]
      return { title: 'Acknowledge this alert?', sentences, facts, button: does('Acknowledge') }
    }
    case 'done':
    case 'undone':
      return { title: 'This alert is acknowledged', sentences: [ACKNOWLEDGED], facts }
    case 'over':
      return { title: 'This alert has ended', sentences: ['It no longer fires: there is nothing to do.'], facts }
  }
}

function mutePage(outlook: Of<'mute'>): Page {
  const { status, endsAt, cycle } = outlook
  const facts = factsOf(outlook)
  const quiet = [`Until ${instant(endsAt)} it is not mailed when this rule fires here. The log and suspensions go on.`]
  switch (status) {
    case 'open': {
      return { title: 'Not again in this billing cycle?', sentences: quiet, facts, button: MUTE }
    }
    case 'done': {
      return { title: 'It is not mailed again in this billing cycle', sentences: quiet, facts, button: undoes() }
    }
    case 'undone': {
      const sentences = ['The silence has ended: when this rule fires here, it is mailed.']
      return { title: 'It is mailed again', sentences, facts, button: MUTE }
    }
    case 'over': {
      const sentences = [`The billing cycle of this link, ${cycle}, has ended, or what it is about is gone.`]
      return { title: 'There is nothing left to silence', sentences, facts }
    }
  }
}

function unsubscribePage({ status, tenantName, mailedBefore }: Of<'unsubscribe'>): Page {
  const facts = [{ label: 'Tenant', value: tenantName }]
  if (status === 'open') {
    const sentences = ['Critical alerts and summaries of billing cycles are mailed all the same.']
    return { title: 'No more mails of alerts that are not critical?', sentences, facts, button: UNSUBSCRIBE }
  }
  if (status === 'undone') {
    const sentences = [`Alerts are mailed from level ${labelOf(LogLevel, mailedBefore)} on.`]
    return { title: 'Alerts are mailed again', sentences, facts, button: UNSUBSCRIBE }
  }
  const sentences = ['Summaries of billing cycles are mailed all the same. The watchdog log has all alerts.']
  return { title: 'Only Critical alerts are mailed now', sentences, facts, button: undoes(mailedBefore) }
}

const NOUNS = { sim: 'SIM', pool: 'Pool', tag: 'Tag' } as const

const factsOf = ({ tenantName, rule, subject }: Of<'ack' | 'mute'>): Page['facts'] => [
  ...(subject === null ? [] : [{ label: NOUNS[subject.kind], value: subject.label }]),
  { label: 'Rule', value: rule },
  { label: 'Tenant', value: tenantName },
]

const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
