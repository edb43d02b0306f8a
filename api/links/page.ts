/** The page of a link in a mail: plain HTML without scripts, which loads nothing. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import Handlebars from 'handlebars'
import type { LinkOutlook } from '../../service/channels/follow-link.ts'

interface Page {
  readonly title: string
  readonly sentences: readonly string[]
  readonly facts: readonly { readonly label: string; readonly value: string }[]
  /** Text of the button; null: no action is left. */
  readonly button: string | null
  /** How whoever runs the service undoes it; null: nothing was done. */
  readonly command: { readonly before: string; readonly text: string } | null
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')
const style = read('page.css')
// All values are escaped but the style, which is ours. A name that a page lacks must fail here.
const template = Handlebars.compile<Page & { readonly style: string }>(read('page.hbs'), { strict: true })

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
export const outlookPage = (outlook: LinkOutlook): string => template({ ...pageOf(outlook), style })

/** A page with the reason why nothing was done. */
export const refusalPage = (title: string, sentence: string): string =>
  template({ title, sentences: [sentence], facts: [], button: null, command: null, style })

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
  const page = { facts, button: null, command: null }
  switch (outlook.status) {
    case 'open':
      return {
        ...page,
        title: 'Acknowledge this alert?',
        sentences: [`This says that somebody has seen it. ${ACKNOWLEDGED}`],
        button: 'Acknowledge',
      }
    case 'done':
      return { ...page, title: 'This alert is acknowledged', sentences: [ACKNOWLEDGED] }
    case 'over':
      return { ...page, title: 'This alert has ended', sentences: ['It no longer fires: there is nothing to do.'] }
  }
}

function mutePage(outlook: Of<'mute'>): Page {
  const { status, endsAt, cycle, silenceId, tenantId } = outlook
  const page = { facts: factsOf(outlook), button: null, command: null }
  const quiet = `Until ${instant(endsAt)} it is not mailed when this rule fires here. The log and suspensions go on.`
  switch (status) {
    case 'open':
      return {
        ...page,
        title: 'Not again in this billing cycle?',
        sentences: [quiet],
        button: 'Mail it no more in this cycle',
      }
    case 'done':
      return {
        ...page,
        title: 'It is not mailed again in this billing cycle',
        sentences: [quiet],
        command: undoneBy(`silences end ${silenceId} --tenant ${tenantId}`),
      }
    case 'over':
      return {
        ...page,
        title: 'There is nothing left to silence',
        sentences: [`The billing cycle of this link, ${cycle}, has ended, or what it is about is gone.`],
      }
  }
}

function unsubscribePage({ status, tenantId, tenantName }: Of<'unsubscribe'>): Page {
  const page = { facts: [{ label: 'Tenant', value: tenantName }], button: null, command: null }
  if (status === 'open') {
    return {
      ...page,
      title: 'No more mails of alerts that are not critical?',
      sentences: ['Critical alerts and summaries of billing cycles are mailed all the same.'],
      button: 'Unsubscribe',
    }
  }
  return {
    ...page,
    title: 'Only Critical alerts are mailed now',
    sentences: ['Summaries of billing cycles are mailed all the same. The watchdog log has all alerts.'],
    command: undoneBy(`tenants notices --tenant ${tenantId} --mails-from info`),
  }
}

const NOUNS = { sim: 'SIM', pool: 'Pool' } as const

const factsOf = ({ tenantName, rule, subject }: Of<'ack' | 'mute'>): Page['facts'] => [
  ...(subject === null ? [] : [{ label: NOUNS[subject.kind], value: subject.label }]),
  { label: 'Rule', value: rule },
  { label: 'Tenant', value: tenantName },
]

const undoneBy = (command: string): Page['command'] => ({
  before: 'Whoever runs the service takes it back with:',
  text: `npx simherd ${command}`,
})

const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
