/** `simherd workflows signal|update|cancel|retry <id>` */

import { type FetchResult, idempotent } from '../../adapters/rest/client.ts'
import type { paths } from '../../adapters/rest/internal.d.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { workflowTypeOf } from '../../domain/temporal/ids.ts'
import { WORKFLOW_SIGNALS } from '../../domain/temporal/signals.ts'
import { WORKFLOW_UPDATES } from '../../domain/workflows/updates.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { tenantOf } from './ask.ts'
import { fieldLines } from './run-text.ts'
import { follow, printEnd } from './watch.ts'

interface SteerFlags {
  readonly tenant?: string
  /** Follows the run until it ends. */
  readonly wait?: boolean
  /** Requests with the same key take effect once. Left out: a new random key. */
  readonly key?: string
}

/**
 * Sends a request that takes effect once a key.
 *
 * @throws CommandFailure with the key, if the request may have taken effect without a response
 */
async function idempotently<T>(
  given: string | undefined,
  ask: (options: ReturnType<typeof idempotent>) => Promise<FetchResult<T>>,
): Promise<T> {
  const key = given ?? crypto.randomUUID()
  try {
    return await responseOf(ask(idempotent(key)))
  } catch (error) {
    if (!(error instanceof CommandFailure && error.exitCode === ExitCode.unreachable)) throw error
    const again = `It may be done all the same: ask again with --key ${key}, and it is done once`
    throw new CommandFailure(`${error.message}\n${again}`, ExitCode.unreachable, { cause: error })
  }
}

type Signal = paths['/internal/workflows/{workflowId}/signals/{name}']['post']['parameters']['path']['name']
type Update = paths['/internal/workflows/{workflowId}/updates/{name}']['post']['parameters']['path']['name']

const isSignal = (name: string): name is Signal => Object.values(WORKFLOW_SIGNALS).some((all) => all.includes(name))
const isUpdate = (name: string): name is Update =>
  Object.values(WORKFLOW_UPDATES).some((all) => Object.hasOwn(all, name))

/** The error for a name that no workflow takes. */
function unknownName(name: string, expected: readonly string[] = []): CommandFailure {
  const names = expected.length === 0 ? 'none: this workflow takes none' : expected.join(', ')
  return new CommandFailure(`got '${name}', expected ${names}`, ExitCode.usage)
}

const typeOf = (workflowId: string): string => workflowTypeOf(workflowId) ?? ''

export async function signalWorkflow(settings: Settings, workflowId: string, name: string, flags: SteerFlags) {
  if (!isSignal(name)) throw unknownName(name, WORKFLOW_SIGNALS[typeOf(workflowId)])
  await askService({ settings, tenantId: tenantOf(workflowId, flags.tenant) }, async (service) => {
    await responseOf(
      service.POST('/internal/workflows/{workflowId}/signals/{name}', { params: { path: { workflowId, name } } }),
    )
    print(`${workflowId}: ${name} is signalled; "npx simherd workflows show ${workflowId}" tells what it makes of it`)
  })
}

interface UpdateFlags extends SteerFlags {
  readonly by?: string
  readonly until?: string
}

/** Sends an update and prints the workflow's result. */
export async function updateWorkflow(settings: Settings, workflowId: string, name: string, flags: UpdateFlags) {
  if (!isUpdate(name)) throw unknownName(name, Object.keys(WORKFLOW_UPDATES[typeOf(workflowId)] ?? {}))
  const { by, until, key } = flags
  const body = dropUndefined({ by, until })
  await askService({ settings, tenantId: tenantOf(workflowId, flags.tenant) }, async (service) => {
    const answer = await idempotently(key, (options) =>
      service.POST('/internal/workflows/{workflowId}/updates/{name}', {
        params: { path: { workflowId, name }, ...options },
        body,
      }),
    )
    print(`${workflowId}: ${name} is taken`)
    for (const line of fieldLines(answer)) print(line)
  })
}

/**
 * Asks a workflow to cancel itself.
 *
 * @throws CommandFailure, with `wait`, if it ended before it could be cancelled
 */
export async function cancelWorkflow(settings: Settings, workflowId: string, { tenant, wait, key }: SteerFlags) {
  await askService({ settings, tenantId: tenantOf(workflowId, tenant), follows: wait }, async (service) => {
    await idempotently(key, (options) =>
      service.POST('/internal/workflows/{workflowId}/cancel', { params: { path: { workflowId }, ...options } }),
    )
    print(`${workflowId}: is asked to cancel itself`)
    if (wait !== true) return
    const run = await follow(service, workflowId)
    if (run.status === 'cancelled') return
    printEnd(run)
    throw new CommandFailure(`${workflowId} was not cancelled: it has ended ${run.status} meanwhile`)
  })
}

/**
 * Starts a failed run again.
 *
 * @throws CommandFailure, with `wait`, if it fails again
 */
export async function retryWorkflow(settings: Settings, workflowId: string, { tenant, wait, key }: SteerFlags) {
  await askService({ settings, tenantId: tenantOf(workflowId, tenant), follows: wait }, async (service) => {
    const { runId } = await idempotently(key, (options) =>
      service.POST('/internal/workflows/{workflowId}/retry', { params: { path: { workflowId }, ...options } }),
    )
    print(`${workflowId}: is started again as run ${runId}`)
    if (wait === true) printEnd(await follow(service, workflowId))
  })
}
