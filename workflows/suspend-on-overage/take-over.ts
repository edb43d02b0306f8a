/** Finds the suspension left by the last run, if suspend-on-overage was started again under its id. */

import { condition, workflowInfo } from '@temporalio/workflow'
import type { SuspensionAsk, SuspensionFound } from '../../activities/suspensions.ts'
import type { SuspendedUntil } from '../../domain/enforcement/suspend.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { failureOf, short } from '../run/activities.ts'
import { clear, end, refuse } from './messages.ts'
import { type SuspendRun, takeOverSuspension } from './run.ts'

/**
 * Waits until no ticket of the SIM is open, then reads the SIM. If this workflow has suspended it, becomes responsible
 * for it again. If a person has, or the cycle has ended, the run ends. Otherwise it goes on, armed only if the SIM is
 * over.
 */
export async function takeOver(run: SuspendRun): Promise<void> {
  const { tenantId, simId, cycleKey, rule } = run.input
  run.timeline.waits({ what: 'the open tickets of the SIM', until: null, why: 'the last run may have opened one' })
  const { workflowId } = workflowInfo()
  try {
    const found = await untilFound(run, { tenantId, simId, cycleKey, rule, workflowId })
    const over = Date.now() >= run.boundaryAt
    if (found.suspendedBy === 'this') own(run, found.until, found.overLimit || over)
    else if (found.suspendedBy === 'a person') end(run.mailbox, 'personActed')
    else if (over) end(run.mailbox, 'boundary')
    else if (!found.overLimit) refuse(run.mailbox)
    run.timeline.done(
      'take over',
      `suspended by ${found.suspendedBy}; ${found.overLimit ? 'over' : 'within'} its limit`,
    )
  } catch (error) {
    const { code, detail } = failureOf(error)
    run.timeline.done('take over', `${code}: ${detail}`)
    end(run.mailbox, 'boundary')
  }
  run.timeline.waits(null)
}

/** Pauses while tickets of the SIM are open, in milliseconds. The ends of this workflow's own are signalled. */
const PAUSES = { firstMs: 1000, longestMs: 60_000 }

async function untilFound({ ends }: SuspendRun, ask: SuspensionAsk): Promise<SuspensionFound> {
  for (let looks = 1; ; looks++) {
    const seen = ends.count()
    const found = await short.lookAtSuspension(ask)
    if (found !== null) return found
    await condition(() => ends.count() > seen, backoffMs(looks, PAUSES))
  }
}

/** @param wanted false if the SIM came back under its limit between the runs */
function own(run: SuspendRun, until: SuspendedUntil, wanted: boolean): void {
  takeOverSuspension(run, until, `suspended by an earlier run until ${until}`)
  if (until === 'renewal' && Date.now() >= run.boundaryAt) end(run.mailbox, 'boundary')
  if (!wanted) clear(run.mailbox)
}
