/** Acts on workflows: updates, a retry, a cancel. Source of their words: docs/workflows.md. */
import { html } from 'hono/html'
import { RESUMED } from '../../../domain/enforcement/suspension-updates.ts'
import { type WorkflowType, workflowTypeOf } from '../../../domain/temporal/ids.ts'
import { capital } from '../../../domain/text.ts'
import { stepFiguresOf, whyNotRetried, wordOf } from '../../../domain/workflows/run-view.ts'
import type { WorkflowInfo } from '../../../domain/workflows/workflow.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, type Confirmation, numberField, readNumber, type Typed } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { choices } from '../../parts/list.ts'
import { objectsOf, runBadge, stateWords, typeWords } from './marks.ts'

/** @throws ServiceError `workflow_not_found`, `forbidden`, `unavailable` */
const readRun = ({ inside }: Calls, workflowId: string): Promise<WorkflowInfo> =>
  mustAnswer(inside.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } }))

interface WorkflowAct extends Pick<Act<WorkflowInfo, string>, 'name' | 'label' | 'icon' | 'send' | 'done'> {
  readonly tone?: 'first' | 'cut'
  readonly question: string
  readonly effect: (run: WorkflowInfo) => Html | string
  readonly undo: (run: WorkflowInfo) => Html | string
  readonly fields?: Confirmation['fields']
  /** Why it has no effect on a run now; null if it has one. */
  readonly whyNot: (run: WorkflowInfo) => string | null
}
type ActOn = Act<WorkflowInfo, string> & Pick<WorkflowAct, 'whyNot'>

const workflowAct = ({ question, effect, undo, fields, whyNot, ...act }: WorkflowAct): ActOn => ({
  ...act,
  noun: 'workflows',
  read: readRun,
  whyNot,
  confirm: (run) => {
    const why = whyNot(run)
    return {
      of: typeWords(run.workflowId),
      question,
      back: 'Leave it',
      facts: [
        ['Of', objectsOf(run.workflowId)],
        ['Workflow', html`<bdi>${run.workflowId}</bdi>`],
        ['Now', html`${runBadge(run)} ${stateWords(run)}`],
        ['Then', effect(run)],
        ['Taken back', undo(run)],
      ],
      ...(fields !== undefined && { fields }),
      ...(why !== null && { warning: why }),
    }
  },
})

type Update = 'resume' | 'keepSuspended' | 'extendGrace' | 'retryFailedChanges'
const sendUpdate =
  (name: Update, argument: (typed: Typed) => Record<string, unknown> = () => ({})): WorkflowAct['send'] =>
  ({ inside }, { workflowId }, typed, { header }) =>
    inside.POST('/internal/workflows/{workflowId}/updates/{name}', {
      params: { path: { workflowId, name }, header },
      body: argument(typed),
    })

const phaseOf = (run: WorkflowInfo) => (run.type === 'suspend-on-overage' ? wordOf(run) : '')

const ENDED = 'It does not run any more.'
/** An update fits running workflows of a type, in some states. */
const unless = (run: WorkflowInfo, fits: boolean, words: string): string | null =>
  run.status !== 'running' ? ENDED : fits ? null : words

/** Phases of a suspension that a person can end. */
const GOING_ON: ReadonlySet<string> = new Set(['grace', 'held', 'suspending', 'suspended', 'activating'])

const resume = workflowAct({
  name: 'resume',
  label: 'Bring back',
  icon: 'back',
  tone: 'first',
  question: 'Bring the SIM back, and suspend it no more in this cycle?',
  effect: (run) => {
    const [, words] = Object.entries(RESUMED).find(([phase]) => phase === phaseOf(run))?.[1] ?? RESUMED.suspended
    return `${capital(words)}. The workflow ends; rules still log and mail.`
  },
  undo: () => html`Not by the watchdog in this cycle. A person can suspend it: <em>Suspend</em>, on its page.`,
  whyNot: (run) => unless(run, GOING_ON.has(phaseOf(run)), 'It does not suspend a SIM now.'),
  send: sendUpdate('resume'),
  done: 'It is asked to bring the SIM back, and leaves it alone in this cycle.',
})

const UNTIL = [
  ['manual', 'A person brings it back'],
  ['renewal', 'The next billing cycle begins'],
] as const

const keep = workflowAct({
  name: 'keep-suspended',
  label: 'Keep suspended',
  icon: 'suspended',
  question: 'Until when does the SIM stay suspended?',
  effect: () => 'Until a person brings it back: neither the next billing cycle nor a cleared alert does.',
  undo: () => html`By the same act, until the next billing cycle; or at once by <em>Bring back</em>.`,
  fields: (typed) => choices({ name: 'until', label: 'Suspended until', value: typed['until'] }, UNTIL),
  whyNot: (run) =>
    unless(run, /^suspend(ing|ed)$/.test(phaseOf(run)), 'It has not suspended a SIM: only that can be kept.'),
  send: sendUpdate('keepSuspended', ({ until }) => ({ until })),
  done: 'It is changed: the state shows until when the SIM stays suspended.',
})

/** A cycle has at most a year. */
const HOURS = { from: 1, to: 8784 }

const extend = workflowAct({
  name: 'extend-grace',
  label: 'Extend the grace',
  icon: 'history',
  question: 'Give the SIM more time before it is suspended?',
  effect: () => 'Its grace period ends later, with a warning before. It cannot outlast the billing cycle.',
  undo: () => html`It cannot be made shorter. <em>Suspend</em>, on the page of the SIM, suspends it at once.`,
  fields: (typed) => numberField({ name: 'hours', label: 'Hours more', ...HOURS }, typed, 2),
  whyNot: (run) => unless(run, phaseOf(run) === 'grace', 'No grace period runs.'),
  send: sendUpdate('extendGrace', (typed) => ({
    by: `PT${readNumber(typed, 'hours', { ...HOURS, isRequired: true })}H`,
  })),
  done: 'The grace period is longer.',
})

const hasFailedChanges = ({ state }: WorkflowInfo): boolean => {
  const { unassign, move } = stepFiguresOf(state)?.progress ?? {}
  return (unassign?.failed ?? 0) + (move?.failed ?? 0) > 0
}

const retryChanges = workflowAct({
  name: 'retry-changes',
  label: 'Retry failed changes',
  icon: 'refresh',
  tone: 'first',
  question: 'Try the failed changes of this month end again?',
  effect: () => 'Each gets a new ticket. Until the cycle is closed they take effect at its end, later at the next.',
  undo: () => html`A ticket that still waits by <em>Cancel</em>, on its page.`,
  whyNot: (run) => unless(run, hasFailedChanges(run), 'No change of it has failed.'),
  send: sendUpdate('retryFailedChanges'),
  done: 'Failed changes have new tickets.',
})

const retry = workflowAct({
  name: 'retry',
  label: 'Retry',
  icon: 'refresh',
  tone: 'first',
  question: 'Start this workflow again?',
  effect: ({ type }) =>
    type === 'suspend-on-overage'
      ? 'It reads the SIM first, and sees to its return if the last run has suspended it. Rules may suspend it again.'
      : 'It starts with the same input. Finished steps are not done twice.',
  undo: () => html`By <em>Cancel</em>, on its page.`,
  whyNot: (run) => {
    const why = whyNotRetried(run)
    return why === null ? null : `It ${why}.`
  },
  send: ({ inside }, { workflowId }, _typed, { header }) =>
    inside.POST('/internal/workflows/{workflowId}/retry', { params: { path: { workflowId }, header } }),
  done: 'It is started again.',
})

/** Effects of a cancel. A batch of a month end has none: the whole is cancelled. */
const CANCELLED: Readonly<Record<Exclude<WorkflowType, 'month-end-batch'>, string>> = {
  'provision-and-activate': 'It undoes its own steps: the SIM is unprovisioned again.',
  'provision-in-bulk': 'It starts no further SIM, and undoes those under way. Active ones stay active.',
  'suspend-on-overage':
    'The SIM stays as it is, and no rule suspends it again in this cycle. Suspended until the next cycle, it comes back then.',
  'enforce-pool':
    'It picks no further SIM in this cycle, and brings none back if the pool is within its capacity again.',
  'undo-suspensions': 'SIMs that it has not come to stay suspended. The others come back.',
  'month-end-reprovision': 'It begins no further step. Open tickets go on; the cycle is not closed.',
  'month-end-timer': 'It starts no further month end. The next one by schedule makes up for it.',
}

const cancel = workflowAct({
  name: 'cancel',
  label: 'Cancel',
  icon: 'no',
  tone: 'cut',
  question: 'Cancel this workflow?',
  effect: ({ workflowId }) => {
    const type = workflowTypeOf(workflowId)
    return type === undefined || type === 'month-end-batch' ? 'It ends in order.' : CANCELLED[type]
  },
  undo: ({ type }) =>
    type === 'provision-in-bulk'
      ? html`By a new batch: <code>simherd workflows start provision-in-bulk</code>.`
      : html`By <em>Retry</em>, on its page.`,
  whyNot: (run) =>
    unless(run, run.type !== 'month-end-batch', 'It is a part of a month end: cancel that, if anything.'),
  send: ({ inside }, { workflowId }, _typed, { header }) =>
    inside.POST('/internal/workflows/{workflowId}/cancel', { params: { path: { workflowId }, header } }),
  done: 'It is asked to end in order.',
})

export const WORKFLOW_ACTS = [resume, keep, extend, retryChanges, retry, cancel]

/** Acts with an effect on a workflow in its present state. */
export const actsOn = (run: WorkflowInfo): ActOn[] => WORKFLOW_ACTS.filter(({ whyNot }) => whyNot(run) === null)
