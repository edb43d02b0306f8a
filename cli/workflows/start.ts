/**
 * `simherd workflows start …`. A second start of a workflow that is running, or may not run again, reports that and is
 * no failure.
 */

import type { FetchResult, InternalClient } from '../../adapters/rest/client.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { SuspendedUntil } from '../../domain/temporal/suspend-on-overage.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { isJson, type OutputFlags, printAnswer } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { type StartAnswer } from './ask.ts'
import { PLAN_TIMEOUT_MS, showPlan } from './plan.ts'
import { follow, printEnd, progressTo } from './watch.ts'

export interface StartFlags extends TenantFlags, OutputFlags {
  /** Follows the run until it ends. */
  readonly wait?: boolean
}
interface ProvisionFlags extends StartFlags {
  readonly sim?: number
  readonly iccid?: string
  readonly pool?: number
  readonly tariff?: number
  readonly tag?: string
}
interface SuspendFlags extends StartFlags {
  readonly sim: number
  readonly cycle?: string
  readonly rule?: string
  readonly grace?: string
  readonly until?: SuspendedUntil
}
interface MonthEndFlags extends StartFlags {
  readonly cycle?: string
  readonly dryRun?: boolean
}

interface UndoFlags extends StartFlags {
  readonly rule: string
  readonly since: string
  readonly until?: string
}

const BEGUN = 202

function startText({ workflowId, status }: StartAnswer, begun: boolean): string {
  if (begun) return `started ${workflowId}`
  if (status === 'running') return `${workflowId} runs already`
  return `${workflowId} is ${status} and does not run again; "npx simherd workflows retry ${workflowId}" starts one that failed again`
}

/** Makes a command that starts a workflow, prints the answer, and follows the run with `wait`. */
const startWith =
  <F extends StartFlags>(post: (service: InternalClient, flags: F) => Promise<FetchResult<StartAnswer>>) =>
  (settings: Settings, flags: F): Promise<void> =>
    askService({ settings, tenantId: flags.tenant, follows: flags.wait }, async (service) => {
      const answered = await post(service, flags)
      const run = await responseOf(Promise.resolve(answered))
      const said = startText(run, answered.response.status === BEGUN)
      if (flags.wait !== true) return printAnswer(flags, run, () => [said])
      if (!isJson(flags)) print(said)
      printEnd(await follow(service, run.workflowId, progressTo(flags)), flags)
    })

/** @throws CommandFailure for no SIM or two, if the service refuses, and, with `wait`, if the run fails */
export async function startProvision(settings: Settings, flags: ProvisionFlags): Promise<void> {
  const { sim: simId, iccid, pool: poolId, tariff: tariffId, tag } = flags
  if ((simId === undefined) === (iccid === undefined)) {
    const got = simId === undefined ? 'neither' : 'both'
    throw new CommandFailure(`which SIM? Expected one of --sim and --iccid, got ${got}`, ExitCode.usage)
  }
  const body = dropUndefined({ simId, iccid, poolId, tariffId, tag })
  await startWith((service) => service.POST('/internal/workflows/provision-and-activate', { body }))(settings, flags)
}

export const startSuspend = startWith((service, { sim: simId, cycle, rule, grace, until }: SuspendFlags) => {
  const body = { simId, ...dropUndefined({ cycle, rule, grace, until }) }
  return service.POST('/internal/workflows/suspend-on-overage', { body })
})

export const startUndo = startWith((service, { rule, since, until }: UndoFlags) => {
  const body = { rule, since, ...dropUndefined({ until }) }
  return service.POST('/internal/workflows/undo-suspensions', { body })
})

/** Starts the month end of a cycle; as a dry run prints its plan instead. */
export async function startMonthEnd(settings: Settings, flags: MonthEndFlags): Promise<void> {
  const { cycle, dryRun, tenant: tenantId } = flags
  if (dryRun === true) {
    return askService({ settings, tenantId, timeoutMs: PLAN_TIMEOUT_MS }, (service) => showPlan(service, cycle, flags))
  }
  const body = dropUndefined({ cycle })
  await startWith((service) => service.POST('/internal/workflows/month-end-reprovision', { body }))(settings, flags)
}
