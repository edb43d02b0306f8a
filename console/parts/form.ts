/**
 * Acts: a confirm page describes the effect, and its form has that effect once, even if it is sent again. Its key is
 * made with the page and goes to the interface as `Idempotency-Key`.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { html } from 'hono/html'
import { type TSchema, Type } from 'typebox'
import { type FetchResult, idempotent } from '../../adapters/rest/client.ts'
import { CycleParams } from '../../api/http/params.ts'
import { asServiceError } from '../../api/http/problems.ts'
import { ERRORS, type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { quote } from '../../domain/quote.ts'
import { RuleVersion } from '../../domain/rules/rule-change.ts'
import { Id } from '../../domain/schema.ts'
import { mustAnswer } from '../answers.ts'
import type { Calls, Doors } from '../calls.ts'
import { isOwnRequest } from '../own-request.ts'
import { callsFor, type TenantParams } from '../tenant.ts'
import { setRefusal } from './failure.ts'
import type { Html } from './html.ts'
import { type IconName, icon } from './icon.ts'
import { facts, notice } from './marks.ts'
import { type PageTenant, sendPage } from './page.ts'

/** Text by name of its field. */
export type Typed = Readonly<Record<string, string>>

/** The text of a confirm page. */
export interface Confirmation {
  /** The object's name. */
  readonly of: Html | string
  /** The heading. */
  readonly question: string
  /** Effect, object and undo of the act. */
  readonly facts: readonly (readonly [string, Html | string])[]
  /** What speaks against it now. */
  readonly warning?: Html | string
  /** It would have no effect: there is no button. */
  readonly isIdle?: boolean
  /** Below the form. */
  readonly below?: Html
  readonly fields?: (typed: Typed) => Html
  /** On the button. */
  readonly button?: string
  /** On the link back. Default: Cancel. */
  readonly back?: string
}

const TENANT = Type.Object({ tenant: Type.String() })
const objectPath = (id: TSchema) => Type.Object({ tenant: Type.String(), id })
/** The parameters in the path of an object's page, by its noun: `/t/{tenant}/{noun}/{id}`, or without an id. */
export const OBJECT_PATHS = {
  addresses: TENANT,
  alerts: objectPath(Id('Alert')),
  backtests: objectPath(Id('Backtest')),
  bulk: objectPath(Type.String({ format: 'uuid', description: 'Bulk run' })),
  decisions: objectPath(Id('Decision')),
  enforcement: TENANT,
  keys: TENANT,
  mails: objectPath(Type.String({ minLength: 1, maxLength: 200, description: 'Mail' })),
  month: objectPath(CycleParams.properties.key),
  'month/schedule': TENANT,
  'my/settings': TENANT,
  orders: objectPath(Id('Order')),
  people: TENANT,
  pools: objectPath(Id('Pool')),
  'rules/versions': objectPath(RuleVersion),
  settings: TENANT,
  silences: objectPath(Id('Silence')),
  sims: objectPath(Id('SIM')),
  tariffs: TENANT,
  tickets: objectPath(Type.String({ format: 'uuid', description: 'Ticket' })),
  webhooks: objectPath(Id('Webhook')),
  workflows: objectPath(Type.String({ pattern: '^[a-z-]+:', maxLength: 300, description: 'Workflow' })),
}
/** Undefined: a tenant has one object of the noun. */
type ObjectId = number | string | undefined
export interface ObjectParams<I extends ObjectId = number> extends TenantParams {
  readonly id: I
}

/** An act on an object of type S, with an id of type I. Its sending answers an A. */
export interface Act<S, I extends ObjectId = number, A = unknown> {
  /** The form is at the act's name, below the object's path. */
  readonly noun: keyof typeof OBJECT_PATHS
  /** The object's page, below the tenant's, if it has another path. */
  readonly page?: string
  readonly name: string
  /** It is about no single object of the noun, or makes one: the form is below their list. */
  readonly isOfAll?: true
  /** On the link to its page, and on its button unless the confirmation has other words. */
  readonly label: string
  readonly icon: IconName
  /** `first`: the usual one; `cut`: it cuts somebody off, so its button warns. Left out: neither. */
  readonly tone?: 'first' | 'cut'
  /** Reads the object in its present state. @param asked the query of its page, or its form. @throws ServiceError */
  readonly read: (calls: Calls, id: I, asked: Typed, tenantId: string) => Promise<S>
  readonly confirm: (object: S, now: number) => Confirmation
  readonly send: (
    calls: Calls,
    object: S,
    typed: Typed,
    params: ReturnType<typeof idempotent>,
  ) => Promise<FetchResult<A>>
  /** The page afterwards, below the tenant's. Default: the object's. */
  readonly next?: (answer: A) => string
  /** Its answer is a page, in place of the next one: it has what is not shown again. */
  readonly show?: (answer: A, back: string) => Html
  /** Said there. */
  readonly done: string
}

interface PlainAct<S, I extends ObjectId, A> extends Omit<Act<S, I, A>, 'confirm'> {
  /** The object's name. */
  readonly of: (object: S) => Html | string
  readonly question: string
  readonly effect: Html | string
  readonly undo: Html | string
  /** Why it would have no effect now; undefined: it has one. */
  readonly whyNot: (object: S) => string | undefined
  readonly fields?: (object: S) => Html
}

/** An act whose confirm page has a question, the effect and its undo. */
export const plainAct = <S, I extends ObjectId = number, A = unknown>({
  of,
  question,
  effect,
  undo,
  whyNot,
  fields,
  ...act
}: PlainAct<S, I, A>): Act<S, I, A> => ({
  ...act,
  confirm: (object) => {
    const warning = whyNot(object)
    const facts = [['Then', effect] as const, ['Taken back', undo] as const]
    const more = { ...(warning && { warning, isIdle: true }), ...(fields && { fields: () => fields(object) }) }
    return { of: of(object), question, facts, ...more }
  },
})

const Asked = Type.Unsafe<Typed>({ type: 'object', additionalProperties: { type: 'string' } })
/** Text of a form, with its key. */
export type Sent = Typed & { readonly key: string }
export const Sent = Type.Unsafe<Sent>({
  ...Asked,
  required: ['key'],
  properties: { key: { type: 'string', format: 'uuid', description: 'Key made with the form' } },
})
/** Of an object's page: the act that led there. */
export const Done = Type.Object({ done: Type.Optional(Type.String()) })
export interface Done {
  readonly done?: string
}

/** @param clock epoch milliseconds */
export function actRoutes<S, I extends ObjectId, A>(
  app: FastifyInstance,
  doors: Doors,
  clock: () => number,
  act: Act<S, I, A>,
): void {
  const params = act.isOfAll === true ? TENANT : OBJECT_PATHS[act.noun]
  const path = `/t/:tenant/${act.noun}${'id' in params.properties ? '/:id' : ''}/${act.name}`
  const sendConfirmation = (reply: FastifyReply, tenant: PageTenant, main: Html) =>
    sendPage(reply, { title: act.label, main, tenant, current: act.noun, isLive: false })
  app.get<{ Params: ObjectParams<I>; Querystring: Typed }>(
    path,
    { schema: { params, querystring: Asked } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { params: named, query } = request
      const object = await act.read(calls, named.id, query, tenant.id)
      const main = confirmPage(act, pathsOf(act, named), act.confirm(object, clock()), { key: randomUUID() })
      return sendConfirmation(reply, tenant, main)
    },
  )
  app.post<{ Params: ObjectParams<I>; Body: Sent }>(
    path,
    { schema: { params, body: Sent } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { params: named, body } = request
      const object = await act.read(calls, named.id, body, tenant.id)
      const send = async () => {
        const answer = await mustAnswer(act.send(calls, object, body, idempotent(body.key)))
        const { back } = pathsOf(act, named)
        if (act.show !== undefined) return sendConfirmation(reply, tenant, act.show(answer, back))
        const next = act.next === undefined ? back : `/t/${tenant.id}/${act.next(answer)}`
        return reply.redirect(`${next}?done=${act.name}`, 303)
      }
      return answerForm(request, reply, send, async (typed, fault) =>
        sendConfirmation(
          reply,
          tenant,
          confirmPage(act, pathsOf(act, named), act.confirm(object, clock()), typed, fault),
        ),
      )
    },
  )
}

/**
 * Answers a form by what its sending answers, or by its own page with the refusal.
 */
export async function answerForm(
  request: FastifyRequest<{ Body: Sent }>,
  reply: FastifyReply,
  send: () => Promise<FastifyReply>,
  showAgain: (typed: Sent, fault: ServiceError) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await send()
  } catch (thrown) {
    const fault = asServiceError(thrown)
    setRefusal(fault, request, reply)
    return showAgain(sentAgain(request.body, fault), fault)
  }
}

/** Refusals of what was done already: the button does it once more. */
const DONE_ALREADY: readonly ErrorCode[] = ['idempotency_key_reused', 'secret_already_shown']

/** Fields of the form after a refusal. The key stays, so a repeat of an act that succeeded has no second effect. */
const sentAgain = (body: Sent, { code }: ServiceError): Sent =>
  DONE_ALREADY.includes(code) ? { ...body, key: randomUUID() } : body

/** The object's page, and its form's. */
function pathsOf(
  { noun, name, page }: Pick<Act<never>, 'noun' | 'name' | 'page'>,
  { tenant, id }: ObjectParams<ObjectId>,
): FormPaths {
  const above = `/t/${encodeURIComponent(tenant)}`
  const path = `${above}/${noun}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
  return { back: page === undefined ? path : `${above}/${page}`, action: `${path}/${name}` }
}

/** The refusal in words. The interface speaks of a key and a version that a person has not seen. */
function refusalWords({ code, message }: ServiceError): Html {
  if (code === 'idempotency_key_reused')
    return html`<strong>It was done already, with other words.</strong> Sent again, it is done once more.`
  if (code === 'secret_already_shown')
    return html`<strong>The key was made already, and shown then.</strong> It is not shown again. If it is lost, revoke it and make another.`
  if (code === 'precondition_failed' || code === 'rules_moved')
    return html`<strong>It has changed in the meantime.</strong> Above is what it is now. Sent again, this takes its place.`
  if (code === 'bulk_grown')
    return html`<strong>More SIMs would be touched than the page had shown.</strong> Above is their number now.`
  return html`<strong>${ERRORS[code].status}: ${ERRORS[code].title}.</strong> ${message}`
}

interface FormPaths {
  readonly back: string
  readonly action: string
}

export function confirmPage(
  act: Pick<Act<never>, 'label' | 'icon' | 'tone'>,
  { back, action }: FormPaths,
  confirmation: Confirmation,
  typed: Sent,
  fault?: ServiceError,
): Html {
  const cancel = html` <a class="button" href="${back}">${confirmation.back ?? 'Cancel'}</a>`
  const refusal = fault === undefined ? '' : notice('critical', 'critical', refusalWords(fault))
  return html`<div class="head">
<div>
<p class="crumbs"><a href="${back}">${confirmation.of}</a></p>
<h1>${confirmation.question}</h1>
</div>
</div>
${actForm(act, action, confirmation, { typed, refusal, cancel, title: '', tone: act.tone ?? 'first' })}
${confirmation.below ?? ''}`
}

interface FormState {
  readonly typed: Sent
  readonly refusal: Html | ''
  readonly cancel: Html | ''
  /** Above the facts. */
  readonly title: Html | ''
  /** Of the button. */
  readonly tone: 'first' | 'cut' | 'plain'
}

/** The form of an act, with all that is said before it. */
const actForm = (
  act: Pick<Act<never>, 'label' | 'icon'>,
  action: string,
  { facts: rows, warning, fields, isIdle, button = act.label }: Confirmation,
  { typed, refusal, cancel, title, tone }: FormState,
): Html => html`<form class="act panel" method="post" action="${action}">
${title}
${warning === undefined ? '' : notice('warning', 'warning', warning)}
${facts(rows)}
<input type="hidden" name="key" value="${typed.key}">
${fields?.(typed) ?? ''}
${refusal}
<p class="acts">${isIdle ? '' : html`<button class="${tone}" type="submit">${icon(act.icon)} ${button}</button>`}${cancel}</p>
</form>`

/** The form of an act on the page of its object, under the act's name: a page of its own is for refusals. */
export const choiceForm = <S>(act: Act<S>, back: string, confirmation: Confirmation): Html =>
  actForm(act, `${back}/${act.name}`, confirmation, {
    typed: { key: randomUUID() },
    refusal: '',
    cancel: '',
    title: html`<h2>${act.label}</h2>`,
    tone: act.tone ?? 'plain',
  })

/** Links to the pages of acts, from the object's page. */
export const actLinks = (
  path: string,
  acts: readonly Pick<Act<never>, 'name' | 'label' | 'icon' | 'tone'>[],
): Html | '' =>
  acts.length === 0
    ? ''
    : html`<p class="acts">${acts.map(
        ({ name, label, icon: picture, tone }) =>
          html`<a class="button${tone === undefined ? '' : ` ${tone}`}" href="${path}/${name}">${icon(picture)} ${label}…</a> `,
      )}</p>`

/** A notice of the act, if a form of the console led here. A link on another site shows none. */
export function doneNotice(
  { headers, query }: FastifyRequest<{ Querystring: Done }>,
  acts: readonly Pick<Act<never>, 'name' | 'done'>[],
): Html | '' {
  const act = acts.find(({ name }) => name === query.done)
  return act === undefined || !isOwnRequest(headers) ? '' : notice('good', 'active', act.done)
}

/** A field for some lines of text. */
export const textField = (
  { name, label, most }: { readonly name: string; readonly label: string; readonly most: number },
  typed: Typed,
): Html => html`<label>${label}
<textarea name="${name}" rows="2" maxlength="${most}" required>${typed[name] ?? ''}</textarea></label>`

/** Bytes of a value that a refusal quotes. */
const MOST_QUOTED = 100

interface Range {
  readonly from: number
  readonly to?: number
  readonly isRequired?: boolean
  /** It may have six digits after its point. Left out: it is whole. */
  readonly isDecimal?: boolean
}

/** A field for a number. @param present its value before a person has typed */
export const numberField = (
  { name, label, from, to, isDecimal = false }: { readonly name: string; readonly label: string } & Range,
  typed: Typed,
  present: number | null = null,
): Html => html`<label>${label}
<input type="number" name="${name}" min="${from}"${to === undefined ? '' : html` max="${to}"`}${isDecimal ? html` step="any"` : ''} value="${typed[name] ?? present ?? ''}"></label>`

/** The number in a field; null: the field is empty. @throws ServiceError `invalid_request` */
export function readNumber(typed: Typed, name: string, range: Range & { readonly isRequired: true }): number
export function readNumber(typed: Typed, name: string, range: Range): number | null
export function readNumber(
  typed: Typed,
  name: string,
  { from, to = Number.MAX_SAFE_INTEGER, isRequired, isDecimal = false }: Range,
) {
  const text = typed[name]?.trim() ?? ''
  if (text === '' && isRequired !== true) return null
  const form = isDecimal ? /^\d+(\.\d{1,6})?$/ : /^\d+$/
  const number = form.test(text) ? Number(text) : Number.NaN
  if (number >= from && number <= to) return number
  throw new ServiceError(
    'invalid_request',
    `${name}: got ${quote(text, MOST_QUOTED) || 'nothing'}, expected a ${isDecimal ? 'number such as 1.25' : 'whole number'} from ${from} to ${to}.`,
  )
}
