/** Acts on month ends: pause and resume their Schedule, start one, try failed changes again. */
import { html } from 'hono/html'
import type { CycleInfo, MonthEndCounts, MonthEndKind } from '../../../domain/month-end/month-end.ts'
import type { MonthEndPlan } from '../../../domain/month-end/plan.ts'
import { count, counted, money } from '../../../domain/quantity.ts'
import type { WorkflowInfo } from '../../../domain/workflows/workflow.ts'
import { dataOf, mustAnswer, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { instantMark } from '../../parts/marks.ts'
import { nameOf, phaseOf, readCycle } from './marks.ts'

/** @throws ServiceError `not_found`, `forbidden`, `unavailable` */
const readSchedule = ({ inside }: Calls) => mustAnswer(inside.GET('/internal/schedules/month-end'))
export type Schedule = Awaited<ReturnType<typeof readSchedule>>

type ScheduleAct = Act<Schedule, undefined>
const OF_SCHEDULE = { noun: 'month/schedule', page: 'month', read: readSchedule } as const

const pause: ScheduleAct = {
  ...OF_SCHEDULE,
  name: 'pause',
  label: 'Pause',
  icon: 'hold',
  tone: 'cut',
  confirm: ({ paused }) => ({
    of: 'Month end',
    question: 'Start no month ends by schedule?',
    facts: [
      [
        'Then',
        'Ended cycles stay open, without a statement. Queued changes wait, and so do SIMs that were to come back.',
      ],
      [
        'Goes on',
        'A month end that runs. Usage is counted, and a person can start a month end on the page of its cycle.',
      ],
      ['Taken back', html`By <em>Resume</em>, on the same page.`],
    ],
    ...(paused && { warning: 'It is paused already.', isIdle: true }),
  }),
  send: ({ inside }) => inside.POST('/internal/schedules/month-end/pause'),
  done: 'It is paused: no month end starts by itself.',
}

const resume: ScheduleAct = {
  ...OF_SCHEDULE,
  name: 'resume',
  label: 'Resume',
  icon: 'back',
  tone: 'first',
  confirm: ({ paused }) => ({
    of: 'Month end',
    question: 'Start month ends by schedule again?',
    facts: [
      ['Then', 'The next one makes up for all ended cycles that are not closed, the oldest first.'],
      ['Taken back', html`By <em>Pause</em>. What a month end has done by then stays.`],
    ],
    ...(!paused && { warning: 'It is not paused.', isIdle: true }),
  }),
  send: ({ inside }) => inside.POST('/internal/schedules/month-end/resume'),
  done: 'It is resumed: month ends start by themselves.',
}

export const SCHEDULE_ACTS = [pause, resume]
/** The one with an effect now. */
export const scheduleActs = ({ paused }: Schedule): ScheduleAct[] => [paused ? resume : pause]

/** The workflow of a cycle's month end; undefined if Temporal knows none. */
export async function readRun({ inside }: Calls, key: string): Promise<Part<WorkflowInfo | undefined>> {
  const query = { type: 'month-end-reprovision', cycle: key, pageSize: 1 } as const
  const found = await tryAnswer(inside.GET('/internal/workflows', { params: { query } }))
  return found === null || 'missing' in found ? found : { data: found.data.data[0] }
}

/** The plan of a month end, as it is kept. @throws ServiceError `cycle_not_found`, `forbidden` */
export const readPlan = ({ inside }: Calls, key: string): Promise<MonthEndPlan> =>
  mustAnswer(inside.GET('/internal/cycles/{key}/plan', { params: { path: { key } } }))

interface Ending {
  readonly cycle: CycleInfo
  readonly plan: MonthEndPlan
  readonly run: Part<WorkflowInfo | undefined>
}

/** Why nothing can be started or tried in a cycle; null if it can. */
function whyIdle(cycle: CycleInfo, now: number): string | null {
  const phase = phaseOf(cycle, now)
  if (phase === 'closed') return 'The cycle is closed: what is queued waits for the next month end.'
  return phase === 'ended' ? null : 'The cycle has not ended.'
}

/** Why a month end cannot be started; null if it can. */
export function whyNotStarted({ cycle, run }: Omit<Ending, 'plan'>, now: number): string | null {
  const status = dataOf(run)?.status
  const why = status === 'running' ? 'It runs already.' : 'It has run: the page of its workflow starts it again.'
  return whyIdle(cycle, now) ?? (status === 'running' || status === 'completed' ? why : null)
}

const idle = (why: string | null) => why !== null && { warning: why, isIdle: true }

const planWords = ({ changes, conflicts, renewals, totals, currency, at }: MonthEndPlan): Html =>
  html`${counted(changes.moves, 'move')}, ${counted(changes.unassignments, 'unassignment')}, ${count(conflicts.count)} would fail; ${counted(renewals.count, 'SIM')} back; ${money(totals.totalMicro, currency)}<small>added up at ${instantMark(at)}</small>`

export const START: Act<Ending, string, { readonly workflowId: string }> = {
  noun: 'month',
  name: 'start',
  label: 'Start the month end',
  icon: 'monthEnd',
  tone: 'first',
  read: async (calls, key) => {
    const [cycle, plan, run] = await Promise.all([readCycle(calls, key), readPlan(calls, key), readRun(calls, key)])
    return { cycle, plan, run }
  },
  confirm: ({ cycle, plan, run }, now) => ({
    of: nameOf(cycle),
    question: 'End this billing cycle now?',
    facts: [
      ['Plan', planWords(plan)],
      ['Then', 'Queued changes get their tickets, and suspended SIMs come back.'],
      ['At the end', 'The cycle is closed, and its statement mailed. That is not taken back.'],
      ['Taken back', html`By <em>Cancel</em>, on the page of its workflow: it begins no further step.`],
    ],
    ...idle(whyNotStarted({ cycle, run }, now)),
  }),
  send: ({ inside }, { cycle: { key: cycle } }) =>
    inside.POST('/internal/workflows/month-end-reprovision', { body: { cycle } }),
  next: ({ workflowId }) => `workflows/${encodeURIComponent(workflowId)}`,
  done: 'It has begun: its steps are here.',
}

/** The steps of a month end: by the kind that is tried again, its counts and its SIMs. */
export const STEPS = {
  unassign: ['unassign', 'unassignment'],
  move: ['move', 'move'],
  return: ['renewals', 'return'],
} as const
export const KINDS: readonly MonthEndKind[] = ['unassign', 'move', 'return']

/** Of one request. */
const MOST_RETRIED = 500

interface Failed {
  readonly cycle: CycleInfo
  readonly kind: MonthEndKind
  readonly failed: number
}

/** Leads to its form with a kind chosen, if the month end can still try it. */
export const retriesOf = (counts: MonthEndCounts, cycle: CycleInfo, now: number) =>
  KINDS.filter((kind) => whyIdle(cycle, now) === null && counts[STEPS[kind][0]].failed > 0).map((kind) => ({
    ...RETRY,
    name: `${RETRY.name}?kind=${kind}`,
    label: `Try failed ${STEPS[kind][1]}s again`,
  }))

export const RETRY: Act<Failed, string> = {
  noun: 'month',
  name: 'retry',
  label: 'Try again',
  icon: 'refresh',
  read: async (calls, key, asked) => {
    const kind = KINDS.find((one) => one === asked['kind']) ?? 'move'
    const progress = calls.inside.GET('/internal/cycles/{key}/progress', { params: { path: { key } } })
    const [cycle, counts] = await Promise.all([readCycle(calls, key), mustAnswer(progress)])
    return { cycle, kind, failed: counts[STEPS[kind][0]].failed }
  },
  confirm: ({ cycle, kind, failed }, now) => ({
    of: nameOf(cycle),
    question: `Try ${counted(failed, `failed ${STEPS[kind][1]}`)} again?`,
    facts: [
      ['Then', html`Each gets a new ticket, with effect at the end of the cycle, ${instantMark(cycle.endsAt)}.`],
      [
        'At most',
        html`${MOST_RETRIED} at once. <em>Retry failed changes</em>, on the page of its workflow, tries all.`,
      ],
      ['Taken back', html`A ticket that still waits by <em>Cancel</em>, on its page.`],
    ],
    ...idle(whyIdle(cycle, now) ?? (failed === 0 ? 'None has failed.' : null)),
    fields: () => html`<input type="hidden" name="kind" value="${kind}">`,
  }),
  send: ({ inside }, { cycle: { key }, kind }, _typed, { header }) =>
    inside.POST('/internal/cycles/{key}/changes/retry', {
      params: { path: { key }, header },
      body: { kind, afterSimId: 0 },
    }),
  done: 'They are tried again. Those that fail are counted below.',
}
