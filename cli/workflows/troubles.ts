/** `simherd workflows troubles` */
import type { components } from '../../adapters/rest/internal.d.ts'
import { forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { table } from '../table.ts'
import { tailOf } from './list.ts'

interface TroubleFlags extends TenantFlags, OutputFlags {
  readonly page: number
}

type Trouble = components['schemas']['Trouble']

const rowOf = ({ workflowId, activity, attempt, since, nextAttemptAt, detail }: Trouble) => [
  workflowId,
  activity,
  String(attempt),
  at(since),
  nextAttemptAt === null ? 'now' : at(nextAttemptAt),
  detail,
]

/** Prints one page of a tenant's activities that fail again and again, the longest retried first. */
export const printTroubles = forTenant(async (service, flags: TroubleFlags) => {
  const query = { page: flags.page }
  const found = await responseOf(service.GET('/internal/workflows/troubles', { params: { query } }))
  printAnswer(flags, found, ({ data, pagination, isChecked }) => [
    ...table(['id', 'activity', 'attempts', 'since', 'next', 'last failure'], data.map(rowOf)),
    tailOf(pagination),
    ...(isChecked ? [] : ['Temporal does not answer: as the workers reported them.']),
  ])
})
