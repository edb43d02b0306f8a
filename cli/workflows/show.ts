/** `simherd workflows show <id>` */

import { linkIn } from '../../adapters/rest/client.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { askPending, tenantOf } from './ask.ts'
import { runLines } from './run-text.ts'

interface ShowFlags extends OutputFlags {
  readonly tenant?: string
}

/** Prints a workflow: its state, finished steps, waits, and failing activities. */
export async function showWorkflow(settings: Settings, workflowId: string, flags: ShowFlags): Promise<void> {
  await askService({ settings, tenantId: tenantOf(workflowId, flags.tenant) }, async (service) => {
    const answered = await service.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } })
    const run = await responseOf(Promise.resolve(answered))
    const pending = run.status === 'running' ? await askPending(service, workflowId) : undefined
    const historyUrl = linkIn(answered.response, 'history') ?? null
    printAnswer(flags, { ...run, pending: pending ?? null, historyUrl }, () =>
      runLines(run, { historyUrl, ...dropUndefined({ pending }) }),
    )
  })
}
