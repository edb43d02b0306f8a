/** Queues the changes for the month's end: moves, tariffs, and returned SIMs. */
import type { Reporter } from '../reporter.ts'
import { ProblemResponse, responseOf } from '../service.ts'
import type { Play } from './prepare.ts'
import { idOf, type SetUp } from './set-up.ts'

/** Queues the changes. Safe to repeat: queueing the same change again does no harm. */
export async function queueChanges(play: Play, ids: SetUp, reporter: Reporter): Promise<void> {
  const { estate } = play.script
  const sims = new Map<string, number>()
  for (const { iccid } of estate.monthEnd) {
    const sim = play.api.GET('/api/sims/{idOrIccid}', { params: { path: { idOrIccid: iccid } } })
    sims.set(iccid, (await responseOf(sim)).id)
  }
  let queued = 0
  for (const change of estate.monthEnd) {
    const params = { path: { id: idOf(sims, change.iccid) } }
    try {
      if (change.kind === 'unassign') {
        await responseOf(play.api.POST('/api/sims/{id}/queue-unprovision', { params }))
      } else {
        const { pool, tariff } = change
        const body = {
          ...(pool === undefined ? {} : { poolId: idOf(ids.pools, pool) }),
          ...(tariff === undefined ? {} : { tariffId: idOf(ids.tariffs, tariff) }),
        }
        await responseOf(play.api.POST('/api/sims/{id}/queue-reprovision', { params, body }))
      }
      queued += 1
    } catch (error) {
      if (!(error instanceof ProblemResponse && error.status === 409)) throw error
      reporter.warn(`a change was refused: ${error.message}`)
    }
  }
  reporter.say(`${queued} changes queued for the month's end`)
}
