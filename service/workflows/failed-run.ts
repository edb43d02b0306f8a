/** Failed runs of enforcement. They are not restarted in their cycle, so people have to be informed. */
import { LogLevel } from '../../domain/codes.ts'
import { parseWorkflowId, type WorkflowType } from '../../domain/temporal/ids.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import { insertLogEntries } from '../../store/log.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolName } from '../pools/rows/pools.ts'
import { activeRuleSet } from '../rules/rows/rule-sets.ts'
import { namedSims } from '../sims/rows/sims.ts'

export interface FailedRun {
  readonly workflowId: string
  readonly runId: string
  readonly type: WorkflowType
  /** Id of the SIM or the pool. */
  readonly id: number
  readonly cycleKey: string
  /** Null if the request does not name it. */
  readonly rule: string | null
  /** How the run has ended, as the internal interface shows it. */
  readonly status: string
}

/** Ends that count as failures. A cancel does not, nor does an end reached by the workflow. */
const FAILED: ReadonlySet<string> = new Set(['failed', 'timedOut', 'terminated'])

/** The run that a request found, if it was to enforce a limit and has failed; else undefined. Pure. */
export function failedRun(
  request: WorkflowRequest,
  { runId, status }: { readonly runId: string; readonly status: string },
): FailedRun | undefined {
  if (request.signal !== 'overLimit' || !FAILED.has(status)) return undefined
  const { workflowId } = request
  const parts = parseWorkflowId(workflowId)
  if (parts?.type !== 'enforce-pool' && parts?.type !== 'suspend-on-overage') return undefined
  const { type, cycleKey } = parts
  const id = parts.type === 'enforce-pool' ? parts.poolId : parts.simId
  const rule = request.do === 'signalWithStart' ? request.input.rule : null
  return { workflowId, runId, type, id, cycleKey, rule, status }
}

/** Logs once per run that a limit is not enforced. Does nothing if the SIM or the pool no longer exists. */
export async function logFailedRun(tx: TenantTx, run: FailedRun): Promise<void> {
  const { workflowId, runId, cycleKey, rule, status } = run
  const about = await subjectOf(tx, run)
  if (about === undefined) return
  const { words, simId, poolId } = about
  const rules = await activeRuleSet(tx)
  await insertLogEntries(tx, [
    {
      dedupeKey: `failed-run/${workflowId}/${runId}`,
      rule,
      ruleVersion: rules?.version ?? null,
      simId,
      poolId,
      level: LogLevel.Critical,
      message:
        `${words} is not enforced in cycle ${cycleKey}: its workflow has ended without being asked to (${status}) and ` +
        'does not start by itself any more. The operator has to start it again.',
      cycleKey,
      explanation: { workflowId, runId, status },
    },
  ])
}

async function subjectOf(tx: TenantTx, { type, id }: FailedRun) {
  if (type === 'enforce-pool') {
    const name = await poolName(tx, id)
    return name === undefined ? undefined : { words: `The limit of pool ${name}`, simId: null, poolId: id }
  }
  const sim = (await namedSims(tx, [id])).get(id)
  return sim === undefined ? undefined : { words: `The limit of SIM ${sim.label}`, simId: id, poolId: sim.poolId }
}
