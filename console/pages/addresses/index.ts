/** The addresses of a tenant's mails, for operators and keys of the tenant: what each gets, and acts on it. */
import type { FastifyInstance } from 'fastify'
import { html } from 'hono/html'
import type { Address } from '../../../domain/channels/address.ts'
import type { Doors } from '../../calls.ts'
import { type Act, actLinks, actRoutes, Done, doneNotice, plainAct } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { ADD, type Found, ON_ADDRESS, REMOVE, readAddresses } from '../my/acts.ts'
import { mailsTo } from '../my/settings.ts'

type AddressAct = Act<Found, undefined>
const add: typeof ADD = { ...ADD, noun: 'addresses' }
const remove: AddressAct = { ...REMOVE, noun: 'addresses' }
const confirm = plainAct<Found, undefined>({
  ...ON_ADDRESS,
  noun: 'addresses',
  name: 'confirm',
  label: 'Confirm',
  icon: 'check',
  question: 'Is this billing address right?',
  effect: 'It gets the mails alone: the previous billing address is removed.',
  undo: 'By changing the billing address of the tenant again.',
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/addresses/{id}/confirm', { params: { path: { id }, header } }),
  done: 'It is confirmed: the previous billing address gets no mail any more.',
})
const clear = plainAct<Found, undefined>({
  ...ON_ADDRESS,
  noun: 'addresses',
  name: 'clear',
  label: 'Clear',
  icon: 'refresh',
  question: 'Send mails to this address again?',
  effect: 'It gets mails from now on. Those that it missed are not sent again.',
  undo: 'By itself: if servers still refuse it, it is passed over again.',
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/addresses/{id}/clear', { params: { path: { id }, header } }),
  done: 'It is cleared: it gets mails again.',
})

/** Acts with an effect on an address. The billing address is the one not confirmed, or else the only one. */
function actsOn({ id, kind, confirmedAt, badSince }: Address, all: readonly Address[]): AddressAct[] {
  if (id === null) return []
  const isNew = kind === 'billing' && confirmedAt === null
  const isOnly = kind === 'billing' && all.filter((one) => one.kind === 'billing').length === 1
  return [...(isNew ? [confirm] : []), ...(badSince === null ? [] : [clear]), ...(isNew || isOnly ? [] : [remove])]
}

const ACTS = [add, confirm, clear, remove]

/** @param clock epoch milliseconds */
export function addressRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: Done }>(
    '/t/:tenant/addresses',
    { schema: { querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const path = `/t/${tenant.id}/addresses`
      const addresses = await readAddresses(calls)
      const links = (address: Address) =>
        actsOn(address, addresses).map(
          ({ name, label }) =>
            html`<a href="${path}/${name}?address=${address.id}">${label}… <span class="hidden">${address.email}</span></a> `,
        )
      const main = html`<div class="head"><div><h1>Addresses</h1>
<p class="lead"><a href="/t/${tenant.id}/my/settings">Settings</a> say which alerts are mailed.</p></div>
${actLinks(path, [add])}
</div>
${doneNotice(request, ACTS)}
${
  addresses.length === 0
    ? html`<p class="empty">None: mails wait until the tenant has a billing address.</p>`
    : html`<div class="panel"><table>
<thead><tr><th scope="col">Address</th><th scope="col">Acts</th></tr></thead>
<tbody>
${addresses.map((one) => html`<tr><th scope="row"><bdi>${one.email}</bdi>${mailsTo(one)}</th><td>${links(one)}</td></tr>`)}
</tbody>
</table></div>`
}`
      return sendPage(reply, { title: 'Addresses', main, tenant, current: 'addresses' })
    },
  )
  actRoutes(app, doors, clock, add)
  for (const act of [confirm, clear, remove]) actRoutes(app, doors, clock, act)
}
