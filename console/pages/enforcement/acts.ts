/** Acts on a tenant's enforcement: stop it, start it, undo the suspensions of a rule. */
import { html } from 'hono/html'
import type { EnforcementSettings } from '../../../domain/enforcement/guard.ts'
import { instantMs } from '../../../domain/instant.ts'
import { count, counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act } from '../../parts/form.ts'
import { instantMark } from '../../parts/marks.ts'

/** @throws ServiceError `forbidden` */
export const readEnforcement = ({ inside }: Calls): Promise<EnforcementSettings> =>
  mustAnswer(inside.GET('/internal/tenant/enforcement'))

type EnforcementAct = Act<EnforcementSettings, undefined>
const OF = 'Enforcement'

/** Send the state itself, so a repeat has no second effect. */
const switchTo =
  (enabled: boolean): EnforcementAct['send'] =>
  ({ inside }) =>
    inside.PATCH('/internal/tenant/enforcement', { body: { enabled } })

const stop: EnforcementAct = {
  noun: 'enforcement',
  name: 'stop',
  label: 'Stop enforcement',
  icon: 'hold',
  tone: 'cut',
  read: readEnforcement,
  confirm: ({ enabled }) => ({
    of: OF,
    question: 'Stop enforcement for this tenant?',
    facts: [
      ['Then', 'No rule suspends a SIM any more, in any mode. Suspensions under way stand down.'],
      ['Goes on', 'Alerts, log and mails. SIMs use data, and it is charged.'],
      ['Suspended SIMs', 'Stay so until the next billing cycle begins, or a person brings them back.'],
      ['Taken back', html`By <em>Start enforcement</em>, on its page.`],
    ],
    ...(!enabled && { warning: 'It is stopped already.', isIdle: true }),
  }),
  send: switchTo(false),
  done: 'Enforcement is stopped: no rule suspends a SIM. Start it here.',
}

const start: EnforcementAct = {
  noun: 'enforcement',
  name: 'start',
  label: 'Start enforcement',
  icon: 'back',
  tone: 'first',
  read: readEnforcement,
  confirm: ({ enabled, guardLeast, guardPct }) => ({
    of: OF,
    question: 'Start enforcement for this tenant?',
    facts: [
      ['Then', 'Rules look at every SIM and pool again, and suspend for what was used in this billing cycle.'],
      [
        'At most',
        `${counted(guardLeast, 'SIM')} or ${guardPct} % by one rule in an hour. The others wait for a decision.`,
      ],
      ['Taken back', html`By <em>Stop enforcement</em>; what a rule has suspended by then, by <em>Undo</em>.`],
    ],
    ...(enabled && { warning: 'It is on already.', isIdle: true }),
  }),
  send: switchTo(true),
  done: 'Enforcement is on: rules look at every SIM and pool again.',
}

export const SWITCHES = [stop, start]
/** The one with an effect now. */
export const switchOf = ({ enabled }: EnforcementSettings): EnforcementAct => (enabled ? stop : start)

/** The suspensions of a rule since a time. */
interface Undoing {
  readonly rule: string
  readonly since: string
  readonly total: number
  /** The first of them. */
  readonly simIds: readonly number[]
  readonly settings: EnforcementSettings
}

const MOST_NAMED = 20

/** A time of a field without a zone is of UTC, as all times of the console. */
const instantOf = (text: string): string => {
  const ms = instantMs(text) ?? instantMs(`${text}Z`)
  return ms === undefined ? text : new Date(ms).toISOString()
}

export const UNDO: Act<Undoing, undefined, { readonly workflowId: string }> = {
  noun: 'enforcement',
  name: 'undo',
  label: 'Undo the suspensions of a rule',
  icon: 'undo',
  tone: 'first',
  read: async (calls, _, { rule = '', since = '' }) => {
    const from = instantOf(since)
    const query = { rule, since: from, limit: MOST_NAMED }
    const [{ suspensions, total }, settings] = await Promise.all([
      mustAnswer(calls.inside.GET('/internal/enforcement/suspensions', { params: { query } })),
      readEnforcement(calls),
    ])
    return { rule, since: from, total, simIds: suspensions.map(({ simId }) => simId), settings }
  },
  confirm: ({ rule, since, total, simIds, settings }) => ({
    of: OF,
    question: total === 0 ? 'There is nothing to undo' : `Bring back ${counted(total, 'SIM')}?`,
    button: `Bring back ${counted(total, 'SIM')}`,
    facts: [
      ['Suspended by', html`Rule <bdi>${rule}</bdi>, since ${instantMark(since)}`],
      ...(total === 0
        ? ([['SIMs', 'None that is still suspended, or about to be.']] as const)
        : ([
            ['SIMs', simsWords(simIds, total)],
            [
              'Then',
              'A workflow brings them back one after another. The watchdog suspends none of them again in this cycle.',
            ],
            ['Stay', 'SIMs that a person or another rule has suspended.'],
            ['Taken back', 'It is not. A SIM can be suspended on its own page.'],
          ] as const)),
    ],
    ...(total === 0
      ? { isIdle: true }
      : settings.enabled && {
          warning: html`<strong>Enforcement is on.</strong> A pool that is still above its limit picks other SIMs. <a href="stop">Stop enforcement</a> first, or take the rule out.`,
        }),
    fields: () =>
      html`<input type="hidden" name="rule" value="${rule}"><input type="hidden" name="since" value="${since}">`,
    below: undoFilter(rule, since),
  }),
  send: ({ inside }, { rule, since }) => inside.POST('/internal/workflows/undo-suspensions', { body: { rule, since } }),
  next: ({ workflowId }) => `workflows/${encodeURIComponent(workflowId)}`,
  done: 'It has begun: the SIMs come back one after another.',
}

const simsWords = (simIds: readonly number[], total: number) =>
  html`${simIds.map((id, n) => html`${n === 0 ? '' : ', '}<a href="../sims/${id}">${id}</a>`)}${total > simIds.length ? ` and ${count(total - simIds.length)} more` : ''}`

/** Another look, before anything is done. */
const undoFilter = (rule: string, since: string) => html`<form class="filters" method="get">
<input type="hidden" name="rule" value="${rule}">
<label>Suspended since (UTC) <input type="datetime-local" name="since" value="${since.slice(0, 16)}" required></label>
<button type="submit">Look again</button>
</form>`
