/** Fields of an input, a state or a result, as facts: their names and values in words. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { instantMs } from '../../../domain/instant.ts'
import { count, duration } from '../../../domain/quantity.ts'
import { UUID } from '../../../domain/schema.ts'
import { capital } from '../../../domain/text.ts'
import { durationMs, isDuration } from '../../../domain/time/duration.ts'
import { Fields } from '../../../domain/workflows/run-view.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { instantMark } from '../../parts/marks.ts'
import { poolLink } from '../pools/marks.ts'

type Facts = readonly (readonly [string, Html | string])[]

/** Shown elsewhere on the page, or only of use to the workflow itself. */
const LEFT_OUT: ReadonlySet<string> = new Set(
  `steps waitsFor phase step reason outcome progress failures left ratePerSecond estimatedEndAt
  tenantId simId cycleKey ruleFile pageSize perRun carried takeOver afterSimId`.split(/\s+/),
)

/** `suspendTickets`: `Suspend tickets`. */
export const nameWords = (name: string): string =>
  capital(name.replaceAll(/[A-Z/]/g, (sign) => ` ${sign === '/' ? '' : sign.toLowerCase()}`)).replace(/ id$/, '')

const WORDS: Readonly<Record<string, string>> = {
  manual: 'a person acts',
  renewal: 'the next billing cycle',
  self: 'the SIM itself',
  largestExcess: 'the largest excess',
  aboveShare: 'all above their share',
}

const Text = Type.Union([Type.String(), Type.Null()])
const Fault = Type.Object({ code: Text, detail: Text })

/** `the carrier refuses it (carrier_refused)` */
export const faultWords = ({ code, detail }: Static<typeof Fault>): Html =>
  html`<bdi>${detail ?? 'no reason'}</bdi>${code === null ? '' : html` (<bdi>${code}</bdi>)`}`

/** Without empty fields. */
export const fieldsOf = (tenantId: string, value: unknown): Facts =>
  Value.Check(Fields, value)
    ? Object.entries(value)
        .filter(
          ([name, field]) => !LEFT_OUT.has(name) && field !== null && !(Array.isArray(field) && field.length === 0),
        )
        .map(([name, field]) => [nameWords(name), valueWords(tenantId, name, field)])
    : []

function valueWords(tenantId: string, name: string, value: unknown): Html | string {
  if (Array.isArray(value)) return joined(value.map((one) => valueWords(tenantId, name, one)))
  if (Value.Check(Fault, value)) return faultWords(value)
  if (Value.Check(Fields, value))
    return joined(fieldsOf(tenantId, value).map(([field, words]) => html`${field} ${words}`))
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') {
    if (name === 'poolId') return poolLink(tenantId, value)
    return name === 'holdId' ? html`<a href="/t/${tenantId}/decisions/${value}">Decision ${value}</a>` : count(value)
  }
  const text = String(value)
  if (name === 'rule') return html`<a href="${linkTo(`/t/${tenantId}/alerts`, { rule: text })}"><bdi>${text}</bdi></a>`
  if (name.toLowerCase().includes('ticket') && UUID.test(text)) return ticketLink(tenantId, text)
  if (instantMs(text) !== undefined) return instantMark(text)
  return isDuration(text) ? duration(durationMs(text)) : html`<bdi>${WORDS[text] ?? text}</bdi>`
}

const joined = (parts: readonly (Html | string)[]): Html =>
  html`${parts.map((one, n) => html`${n === 0 ? '' : ', '}${one}`)}`

const ticketLink = (tenantId: string, id: string): Html =>
  html`<a href="/t/${tenantId}/tickets/${id}">ticket ${id.slice(0, 8)}</a>`

const NAMED = /(ticket [0-9a-f]{8}-[0-9a-f-]{27}|hold \d+)/

/** A text of a workflow; tickets and holds that it names are links. */
export const linked = (tenantId: string, text: string): Html =>
  html`${text.split(NAMED).map((part) => {
    const [noun, id = ''] = NAMED.test(part) ? part.split(' ') : []
    if (noun === 'ticket') return ticketLink(tenantId, id)
    return noun === 'hold' ? html`<a href="/t/${tenantId}/decisions/${id}">${part}</a>` : html`<bdi>${part}</bdi>`
  })}`
