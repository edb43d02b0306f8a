/** The common part of all acts on a SIM. */
import { html } from 'hono/html'
import type { SimEnforcement } from '../../../domain/enforcement/enforcement.ts'
import type { Sim } from '../../../domain/sims/sim.ts'
import { mustAnswer, type Part, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act, Confirmation } from '../../parts/form.ts'
import { grouped, statusBadge } from '../../parts/marks.ts'

export interface ActedOn {
  readonly sim: Sim
  /** Null for keys that may not see it. */
  readonly enforcement: Part<SimEnforcement>
}

/** @throws ServiceError `sim_not_found` */
export const readSimNamed = ({ outside }: Calls, idOrIccid: string): Promise<Sim> =>
  mustAnswer(outside.GET('/api/sims/{idOrIccid}', { params: { path: { idOrIccid } } }))

/** @throws ServiceError `sim_not_found` */
export async function readSim(calls: Calls, id: number): Promise<ActedOn> {
  const [sim, enforcement] = await Promise.all([
    readSimNamed(calls, String(id)),
    tryAnswer(calls.inside.GET('/internal/sims/{id}/enforcement', { params: { path: { id } } })),
  ])
  return { sim, enforcement }
}

type Fields<A> = Pick<Act<ActedOn, number, A>, 'name' | 'label' | 'icon' | 'tone' | 'send' | 'show' | 'done'> &
  Pick<Confirmation, 'question' | 'fields'>
interface SimAct<A> extends Fields<A> {
  /** After the name and state of the SIM. */
  readonly facts: (found: ActedOn, now: number) => Confirmation['facts']
  readonly warning?: (found: ActedOn) => string | undefined
}

export const simAct = <A = unknown>({
  question,
  facts,
  fields,
  warning,
  ...act
}: SimAct<NoInfer<A>>): Act<ActedOn, number, A> => ({
  ...act,
  noun: 'sims',
  read: readSim,
  confirm: (found, now) => {
    const { tag, iccid, status } = found.sim
    const [name, spoken] = [html`<bdi>${tag || grouped(iccid)}</bdi>`, warning?.(found)]
    return {
      of: name,
      question,
      facts: [
        ['SIM', name],
        ...(tag === '' ? [] : [['ICCID', grouped(iccid)] as const]),
        ['Now', statusBadge(status)],
        ...facts(found, now),
      ],
      ...(fields && { fields }),
      ...(spoken !== undefined && { warning: spoken }),
    }
  },
})
