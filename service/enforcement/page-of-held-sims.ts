/** The SIMs that a hold of suspensions covers. */
import { type Page, type PageQuery, pageRequest, toPage } from '../../domain/page.ts'
import type { SimSummary } from '../../domain/sims/sim.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { readSummaries } from '../sims/rows/sim-reads.ts'
import { heldIn, noHold } from './rows/guard.ts'
import { simsHeldBy } from './rows/permits.ts'

/** @throws ServiceError `hold_not_found` */
export async function pageOfHeldSims(tx: TenantTx, holdId: number, query: PageQuery): Promise<Page<SimSummary>> {
  if ((await heldIn(tx, holdId)) === undefined) throw noHold(holdId)
  const page = pageRequest(query)
  const { ids, totalItems } = await simsHeldBy(tx, holdId, page)
  return toPage(page, totalItems, await readSummaries(tx, ids))
}
