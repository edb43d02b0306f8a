/** Acts on backtests: run one, delete one. */
import { html } from 'hono/html'
import { type Backtest, type BacktestDetail, MOST_CYCLES } from '../../../domain/backtests/backtest.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { instant } from '../../../domain/local-time.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, numberField, readNumber } from '../../parts/form.ts'
import { choices } from '../../parts/list.ts'
import { backtestWords } from './marks.ts'

/** A backtest of the tenant. @throws ServiceError `backtest_not_found`, `forbidden` */
export async function readBacktest({ inside }: Calls, tenantId: string, id: number): Promise<BacktestDetail> {
  const found = await mustAnswer(inside.GET('/internal/rules/backtests/{id}', { params: { path: { id } } }))
  if (found.tenantId === tenantId) return found
  throw new ServiceError('backtest_not_found', `The tenant has no backtest ${id}.`)
}

interface Choice {
  readonly tenantId: string
  /** Those in force, then versions with their times, the last pushed or activated one first. */
  readonly versions: readonly (readonly [string, string])[]
  readonly asked: string
}

export const RUN: Act<Choice, undefined, Backtest> = {
  noun: 'backtests',
  isOfAll: true,
  name: 'new',
  label: 'Run a backtest',
  icon: 'backtest',
  tone: 'first',
  read: async ({ inside }, _, { version: asked = '' }, tenantId) => {
    const { data } = await mustAnswer(inside.GET('/internal/rules/versions'))
    const inForce = data.find(({ change }) => change === 'activated')
    // The last value of equal keys stays: that of the oldest change, which stored the version.
    const versions = new Map([
      ['', `Those in force${inForce === undefined ? '' : `: version ${inForce.version}`}`],
      ...data.map(({ version, at }) => [String(version), `Version ${version} of ${instant(at)}`] as const),
    ])
    if (!versions.has(asked)) versions.set(asked, `Version ${asked}`)
    return { tenantId, versions: [...versions], asked }
  },
  confirm: ({ versions, asked }) => ({
    of: 'Backtests',
    question: 'Run a backtest?',
    button: 'Run it',
    facts: [
      ['Then', 'A worker replays billing cycles with these rules, and reports what they would have done.'],
      ['Takes', 'Up to half an hour. Backtests run one at a time, the oldest first.'],
      ['Goes on', 'The work of the rules in force. A replay neither mails nor suspends, and changes no SIM.'],
      ['Taken back', html`By <em>Delete</em>, on its page: one that runs stops.`],
    ],
    fields: (typed) => html`
${choices({ name: 'version', label: 'Rules', value: asked }, versions)}
${numberField({ name: 'cycles', label: 'Billing cycles, those that ended last', from: 1, to: MOST_CYCLES }, typed, 1)}`,
  }),
  send: ({ inside }, { tenantId }, typed, params) => {
    const version = readNumber(typed, 'version', { from: 1 })
    const cycles = readNumber(typed, 'cycles', { from: 1, to: MOST_CYCLES, isRequired: true })
    const body = { tenantId, cycles, ...(version !== null && { version }) }
    return inside.POST('/internal/rules/backtests', { params, body })
  },
  next: ({ id }) => `backtests/${id}`,
  done: 'It is queued: this page shows its progress, then its report.',
}

export const DELETE: Act<BacktestDetail> = {
  noun: 'backtests',
  name: 'delete',
  label: 'Delete',
  icon: 'no',
  tone: 'cut',
  read: (calls, id, _, tenantId) => readBacktest(calls, tenantId, id),
  confirm: (backtest) => ({
    of: backtestWords(backtest),
    question: 'Delete this backtest?',
    facts: [
      ['Then', backtest.endedAt === null ? 'It stops, without a report.' : 'Its report is gone, for everyone.'],
      ['Taken back', 'By another backtest, as long as these billing cycles are the ones that ended last.'],
    ],
  }),
  send: ({ inside }, { id }) => inside.DELETE('/internal/rules/backtests/{id}', { params: { path: { id } } }),
  next: () => 'backtests',
  done: 'It is deleted.',
}
