/** The confirm page of a bulk run: a dry run shows its effect, and its form starts it on no more SIMs than shown. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { idempotent } from '../../../adapters/rest/client.ts'
import { dropUndefined } from '../../../domain/drop-undefined.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { count } from '../../../domain/quantity.ts'
import { Id } from '../../../domain/schema.ts'
import { SimQuery } from '../../../domain/sims/sim.ts'
import { BulkPart, type BulkPlan, BulkRequest, type BulkSims } from '../../../domain/tickets/bulk.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Confirmation, confirmPage, readNumber, type Sent, textField } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { facts } from '../../parts/marks.ts'
import { poolField, readPoolNames } from '../../pools.ts'
import { EFFECTS, refusalWords, runWords, TYPES } from './marks.ts'

const { search, status, poolId } = SimQuery.properties
/** The SIMs are in the path: ticked ones, all of a filter, or those of an earlier run. */
export const NewQuery = Type.Object({
  type: BulkRequest.properties.type,
  id: Type.Optional(Type.Union([Id('Ticked SIM'), Type.Array(Id('Ticked SIM'))])),
  all: Type.Optional(Type.Boolean()),
  search,
  status,
  poolId,
  run: Type.Optional(BulkPart.properties.id),
  outcome: Type.Optional(BulkPart.properties.outcome),
})
export type NewQuery = Static<typeof NewQuery>

/** SIMs of a kind that the page names. */
const FEW = 5

const filterOf = ({ search, status, poolId }: NewQuery) => dropUndefined({ search, status, poolId })

/** Undefined: none is ticked. */
function simsIn(query: NewQuery): BulkSims | undefined {
  const { id = [], all, run, outcome = 'complete' } = query
  if (run !== undefined) return { run: { id: run, outcome } }
  if (all === true) return { filter: filterOf(query) }
  const ids = [id].flat()
  return ids.length === 0 ? undefined : { ids }
}

/** Starts the run. @returns its id @throws ServiceError */
export async function startRun({ inside }: Calls, query: NewQuery, typed: Sent): Promise<string> {
  const { type } = query
  const sims = simsIn(query)
  if (sims === undefined) throw new ServiceError('invalid_request', 'id: got none, expected the ids of ticked SIMs.')
  const expect = readNumber(typed, 'expect', { from: 0, isRequired: true })
  const body: BulkRequest = {
    type,
    sims,
    expect,
    ...(type === 'send-sms' && { message: typed['message'] ?? '' }),
    ...(type === 'provision' && { poolId: readNumber(typed, 'poolId', { from: 1, isRequired: true }) }),
  }
  const run = await mustAnswer(inside.POST('/internal/bulk-tickets', { params: idempotent(typed.key), body }))
  if ('id' in run) return run.id
  throw new Error('a bulk run was answered by a dry run')
}

interface NewPage {
  readonly query: NewQuery
  /** Path of the form: this page's. */
  readonly action: string
  readonly typed: Sent
  /** Why it was refused. */
  readonly fault?: ServiceError
}

export async function newPage(calls: Calls, tenantId: string, shown: NewPage): Promise<Html> {
  const { type, run } = shown.query
  const path = `/t/${tenantId}/sims`
  const back = run === undefined ? linkTo(path, filterOf(shown.query)) : `/t/${tenantId}/bulk/${run}`
  const sims = simsIn(shown.query)
  if (sims === undefined)
    return vainPage('Tick SIMs first', back, html`<p>Tick them in the list, or choose all that match.</p>`)
  // Neither the text nor the pool, which is not chosen yet, decides about a SIM.
  const body: BulkRequest = { type, sims, dryRun: true, ...(type === 'send-sms' && { message: '-' }) }
  const plan = await mustAnswer(calls.inside.POST('/internal/bulk-tickets', { body }))
  if (!('touched' in plan)) throw new Error('a dry run was answered by a bulk run')
  const rows = factsOf(path, plan)
  if (plan.touched.count === 0) return vainPage(`No SIM would be ${TYPES[type].done}`, back, facts(rows))
  const words = runWords(type, plan.touched.count)
  const pools = type === 'provision' ? await readPoolNames(calls) : []
  const confirmation: Confirmation = {
    of: run === undefined ? 'SIMs' : 'Bulk run',
    question: `${words}?`,
    button: words,
    facts: [
      ...rows,
      ['Then', EFFECTS[type]],
      // The run that suspended them took over what a rule had suspended before.
      ...(run !== undefined && type === 'activate'
        ? [['Also', 'Those that a rule had suspended before the run.'] as const]
        : []),
      ['Taken back', takenBack(plan)],
    ],
    fields: (typed) => html`<input type="hidden" name="expect" value="${plan.touched.count}">
${type === 'provision' ? poolField(pools, typed) : ''}
${type === 'send-sms' ? textField({ name: 'message', label: 'Message', most: 1600 }, typed) : ''}`,
  }
  return confirmPage(TYPES[type], { back, action: shown.action }, confirmation, shown.typed, shown.fault)
}

/** A page without a form: nothing would be done. */
const vainPage = (words: string, back: string, body: Html): Html => html`<div class="head"><h1>${words}</h1></div>
<div class="act panel">${body}
<p class="acts"><a class="button" href="${back}">Go back</a></p></div>`

/** The SIMs that get a ticket, and those that do not. */
const factsOf = (path: string, { type, total, touched, refused }: BulkPlan): Confirmation['facts'] => [
  ['SIMs', html`${count(touched.count)} of ${count(total)} will be ${TYPES[type].done}${few(path, touched)}`],
  ...(refused.count === 0 ? [] : [['Refused', html`${refusalWords(refused.byCode)}${few(path, refused)}`] as const]),
]

/** The first SIMs of a kind, with links. */
const few = (path: string, kind: BulkPlan['touched' | 'refused']): Html => html`
${kind.sims.slice(0, FEW).map((sim) => html`<small>${sim.simId === null ? sim.iccid : html`<a href="${path}/${sim.simId}">${sim.iccid}</a>`} ${'detail' in sim ? sim.detail : ''}</small>`)}
${kind.count > FEW ? html`<small>and ${count(kind.count - FEW)} more</small>` : ''}`

function takenBack({ type }: BulkPlan): Html | string {
  const { back = '', done, opposite } = TYPES[type]
  if (opposite === undefined) return back
  return html`By <em>${TYPES[opposite].label} what it did</em>, on the page of the run: the SIMs that it has ${done}.`
}
