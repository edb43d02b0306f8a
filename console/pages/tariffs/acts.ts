/** Acts on the own tariffs of a tenant: make one, withdraw it from new assignments, offer it again. */
import { html } from 'hono/html'
import { labelOf, TariffType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type { Tariff } from '../../../domain/tariffs/tariff.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, numberField, readNumber } from '../../parts/form.ts'
import { PRICE, readCurrency } from '../../prices.ts'

const FEES = {
  simMonthlyFee: 'A month of a SIM',
  overageFeePerGb: 'A GB above the data',
  smsFee: 'An SMS',
  voiceFee: 'A minute of voice',
}
const PER_SIM = { baseTariffGb: 'Data of a SIM, in GB', ...FEES }
const FIXED = { fixedCapacityGb: 'Data of the pool, in GB', fixedBucketCost: 'A month of the pool', ...FEES }
const TYPES = {
  [TariffType.Standard]: { terms: 'standardTariff', fields: PER_SIM, words: 'Each SIM has its data for itself.' },
  [TariffType['Dynamic Pool']]: {
    terms: 'dynamicPoolTariff',
    fields: PER_SIM,
    words: 'SIMs of a pool share their data.',
  },
  [TariffType['Fixed Pool']]: {
    terms: 'fixedPoolTariff',
    fields: FIXED,
    words: 'SIMs of a pool share the data of the pool.',
  },
} as const
const CODES = Object.values(TariffType)

/** @throws ServiceError `forbidden` */
const readOwn = ({ inside }: Calls): Promise<Tariff[]> => mustAnswer(inside.GET('/internal/tariffs'))

export const NEW_TARIFF: Act<{ readonly type: TariffType; readonly currency: string }, undefined> = {
  noun: 'tariffs',
  name: 'new',
  label: 'New tariff',
  icon: 'add',
  tone: 'first',
  read: async (calls, _, { type }) => {
    // Who may not read them may not make one either.
    const [currency] = await Promise.all([readCurrency(calls), readOwn(calls)])
    return { type: CODES.find((one) => String(one) === type) ?? TariffType.Standard, currency }
  },
  confirm: ({ type, currency }) => ({
    of: 'Tariffs',
    question: `Make a ${labelOf(TariffType, type)} tariff?`,
    button: 'Make it',
    facts: [
      ['Type', TYPES[type].words],
      [
        'Other types',
        html`${CODES.filter((one) => one !== type).map((one) => html`<a href="new?type=${one}">${labelOf(TariffType, one)}</a> `)}`,
      ],
      ['Fees', `In ${currency}.`],
      ['Then', 'It can be assigned to SIMs and pools of this tenant. Its terms never change.'],
      ['Taken back', html`By <em>Withdraw</em>, in the list.`],
    ],
    fields: (typed) => html`<input type="hidden" name="type" value="${type}">
<label>Name <input name="name" value="${typed['name'] ?? ''}" maxlength="100" required></label>
<label>Description <input name="description" value="${typed['description'] ?? ''}" maxlength="1000"></label>
${Object.entries(TYPES[type].fields).map(([name, label]) => numberField({ name, label, ...PRICE }, typed))}`,
  }),
  send: async ({ inside }, { type }, typed, params) => {
    const { terms, fields } = TYPES[type]
    const values = Object.keys(fields).map((name) => [name, readNumber(typed, name, PRICE)])
    const named = { displayName: typed['name'] ?? '', description: typed['description'] ?? '', type }
    return inside.POST('/internal/tariffs', { params, body: { ...named, [terms]: Object.fromEntries(values) } })
  },
  done: 'It is made, and offered.',
}

export const offerWords = ({ isActive }: Tariff): string => (isActive ? 'Withdraw' : 'Offer again')

/** Withdraws a tariff that is offered, and offers a withdrawn one. */
export const OFFER: Act<Tariff, undefined> = {
  noun: 'tariffs',
  name: 'offer',
  label: 'Change the offer',
  icon: 'tariff',
  tone: 'first',
  read: async (calls, _, { tariff: id }) => {
    const found = (await readOwn(calls)).find((one) => String(one.id) === id)
    if (found !== undefined) return found
    throw new ServiceError('tariff_not_found', 'This tenant has no such tariff of its own.')
  },
  confirm: (tariff) => ({
    of: 'Tariffs',
    question: `${offerWords(tariff)}?`,
    button: offerWords(tariff),
    facts: [
      ['Tariff', html`<bdi>${tariff.displayName}</bdi>`],
      [
        'Then',
        `${tariff.isActive ? 'It is assigned to no SIM and no pool' : 'It can be assigned'} from now on. Those that have it keep it.`,
      ],
      ['Taken back', html`By <em>${offerWords({ ...tariff, isActive: !tariff.isActive })}</em>, in the list.`],
    ],
    fields: () => html`<input type="hidden" name="tariff" value="${tariff.id}">
<input type="hidden" name="isActive" value="${String(!tariff.isActive)}">`,
  }),
  send: ({ inside }, { id }, typed) => {
    const body = { isActive: typed['isActive'] === 'true' }
    return inside.PATCH('/internal/tariffs/{id}', { params: { path: { id } }, body })
  },
  done: 'It is done, for new assignments.',
}
