/** Acts on a hold of the guard: release it, or leave its SIMs alone. */
import { html } from 'hono/html'
import type { idempotent } from '../../../adapters/rest/client.ts'
import type { Hold } from '../../../domain/enforcement/guard.ts'
import { count, counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act, Confirmation, Typed } from '../../parts/form.ts'

/** @throws ServiceError `hold_not_found`, `forbidden` */
export const readHold = (calls: Calls, id: number): Promise<Hold> =>
  mustAnswer(calls.inside.GET('/internal/enforcement/holds/{id}', { params: { path: { id } } }))

/** `4 SIMs`, or `60 alerts`. */
export const heldWords = ({ what, waiting }: Pick<Hold, 'what' | 'waiting'>): string =>
  counted(waiting, what === 'suspensions' ? 'SIM' : 'alert')

type Said = Omit<Confirmation, 'of' | 'fields'>

const mayAgain = ({ allowed, what }: Hold): string =>
  `Its count of an hour begins anew: it may ${what === 'suspensions' ? 'suspend' : 'begin to mail about'} ${count(allowed)} more unasked.`

export const released = (hold: Hold): Said =>
  hold.what === 'suspensions'
    ? {
        question: `Suspend ${heldWords(hold)}?`,
        button: `Suspend ${heldWords(hold)}`,
        facts: [
          ['Then', `The carrier blocks data, voice and SMS of ${heldWords(hold)}, in some seconds.`],
          ['Until', 'The rule says so: usually until the next billing cycle begins.'],
          ['Rule', mayAgain(hold)],
          [
            'Taken back',
            html`One by one by <em>Bring back</em>. All of the rule by <em>Undo</em>, on the page <em>Enforcement</em>.`,
          ],
        ],
      }
    : {
        question: `Mail about ${heldWords(hold)}?`,
        button: `Mail about ${heldWords(hold)}`,
        facts: [
          ['Then', 'Their mails are sent, and SIMs are suspended as the rule and their watchdog mode say.'],
          ['Rule', mayAgain(hold)],
          ['Taken back', 'Mails are not. A SIM is, by bringing it back.'],
        ],
      }

const discarded = (hold: Hold): Said =>
  hold.what === 'suspensions'
    ? {
        question: `Leave ${heldWords(hold)} on?`,
        button: `Leave ${heldWords(hold)} on`,
        facts: [
          ['Then', 'They stay on until their alerts have ended and fire again. What they use is charged.'],
          ['Taken back', 'It is not. A SIM can be suspended on its own page.'],
        ],
      }
    : {
        question: `Leave ${heldWords(hold)} alone?`,
        button: `Leave ${heldWords(hold)} alone`,
        facts: [
          ['Then', 'No mail is sent and nobody is suspended, until they have ended and fire again. The log has them.'],
          ['Taken back', 'It is not.'],
        ],
      }

/** A form decides about no more than its page has shown: `expect` is for the interface. */
const confirmBy =
  (words: (hold: Hold) => Said) =>
  (hold: Hold): Confirmation => ({
    of: `Decision ${hold.id}`,
    ...words(hold),
    ...(hold.state !== 'held' && {
      warning: html`<strong>Nothing waits for a decision here:</strong> it is ${hold.state}.`,
    }),
    fields: () => html`<input type="hidden" name="expect" value="${hold.waiting}">`,
  })

const askFor = ({ id }: Hold, { expect }: Typed, { header }: ReturnType<typeof idempotent>) => ({
  params: { path: { id }, query: { expect: Number(expect) }, header },
})

const release: Act<Hold> = {
  noun: 'decisions',
  name: 'release',
  label: 'Let the rule act',
  icon: 'suspended',
  tone: 'first',
  read: readHold,
  confirm: confirmBy(released),
  send: ({ inside }, ...form) => inside.POST('/internal/enforcement/holds/{id}/release', askFor(...form)),
  done: 'It is released: the rule acts, in some seconds.',
}

const discard: Act<Hold> = {
  noun: 'decisions',
  name: 'discard',
  label: 'Leave them alone',
  icon: 'active',
  read: readHold,
  confirm: confirmBy(discarded),
  send: ({ inside }, ...form) => inside.POST('/internal/enforcement/holds/{id}/discard', askFor(...form)),
  done: 'They are left alone, until their alerts have ended and fire again.',
}

export const DECISION_ACTS = [release, discard]
