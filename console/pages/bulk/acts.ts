/** The act on a bulk run: cancel its rest. */
import { html } from 'hono/html'
import { counted } from '../../../domain/quantity.ts'
import type { BulkRunDetail } from '../../../domain/tickets/bulk.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act } from '../../parts/form.ts'
import { runWords, TYPES } from './marks.ts'

/** @throws ServiceError `bulk_not_found`, `forbidden` */
export const readRun = (calls: Calls, id: string): Promise<BulkRunDetail> =>
  mustAnswer(calls.inside.GET('/internal/bulk-tickets/{id}', { params: { path: { id } } }))

/** SIMs that the run can still leave alone. */
export const restOf = ({ counts }: BulkRunDetail): number => counts.waiting + counts.pending

export const cancel: Act<BulkRunDetail, string> = {
  noun: 'bulk',
  name: 'cancel',
  label: 'Cancel the rest',
  icon: 'no',
  tone: 'cut',
  read: readRun,
  confirm: (run) => ({
    of: runWords(run.type, run.total),
    question: 'Cancel the rest of this run?',
    back: 'Let it go on',
    facts: [
      ['Then', `${counted(restOf(run), 'SIM')} that wait are not ${TYPES[run.type].done}: the carrier is not asked.`],
      ['Goes on', `${counted(run.counts.processing, 'ticket')} at the carrier. What is complete stays so.`],
      ['Taken back', html`By another run, from the list of SIMs.`],
    ],
    ...(restOf(run) === 0 && { warning: 'Nothing of it waits: there is nothing to cancel.' }),
  }),
  send: ({ inside }, { id }) => inside.DELETE('/internal/bulk-tickets/{id}', { params: { path: { id } } }),
  done: 'Its rest is cancelled: the carrier is not asked.',
}
