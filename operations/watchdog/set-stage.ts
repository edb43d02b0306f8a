/** Sets the stage of a rule without a new file. */
import { ServiceError } from '../../domain/errors.ts'
import type { Stage } from '../../rules/rule-file.ts'
import { noteChange } from '../../store/audit.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { insertSpread } from '../../store/rule-spreads.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { lockRules } from '../../store/watchdog/rule-sets.ts'
import { insertStage } from '../../store/watchdog/rule-stages.ts'
import { shiftsOf } from './rule-events.ts'
import { type Change, readRulesInForce } from './rules-in-force.ts'
import { isBacktested } from './tested-rules.ts'

export interface StageSet {
  readonly rule: string
  readonly stage: Stage
  /** False if it was in this stage already. */
  readonly changed: boolean
}

/** A stage that is set, by whom and why. */
export interface StageChange extends Pick<Change, 'author' | 'reason'> {
  readonly stage: Stage
  /** Whether a rule that no backtest has tested may go to `enforce`. The audit trail says so. Default: no. */
  readonly untested?: boolean | undefined
}

/**
 * Sets the stage of a rule in force, until its file names another stage than now. Stage `enforce` needs a backtest of the rule
 * (decision 63), or a file with that stage.
 *
 * @throws ServiceError `rule_not_found`, `rule_untested`
 */
export function setStage(store: Store, name: string, wish: StageChange): Promise<StageSet> {
  return inPlatform(store, async (tx) => {
    await lockRules(tx)
    return { rule: name, stage: wish.stage, changed: await change(tx, name, wish) }
  })
}

/** @returns whether it was in another stage */
async function change(
  tx: PlatformTx,
  name: string,
  { stage, author, reason, untested = false }: StageChange,
): Promise<boolean> {
  const { version, rules: was } = await readRulesInForce(tx)
  const rule = was.find((one) => one.name === name)
  if (rule === undefined) throw new ServiceError('rule_not_found', `name: no rule ${name} is in force.`)
  const before = rule.event.params.stage
  if (before === stage) return false
  const isTested = stage !== 'enforce' || rule.fileStage === 'enforce' || (await isBacktested(tx, rule))
  if (!isTested && !untested)
    throw new ServiceError(
      'rule_untested',
      `No backtest of the last 30 days has tested ${name} as it decides now: backtest it first, or say that it is untested.`,
    )
  await insertStage(tx, { rule: name, stage, fileStage: rule.fileStage, version, author, reason: reason ?? null })
  const after = { stage, author, ...(reason === undefined ? {} : { reason }), ...(isTested ? {} : { untested }) }
  await noteChange(tx, { subject: 'rules', id: name, before: { stage: before }, after })
  const changes = { added: [], changed: [name], removed: [] }
  const body = { kind: 'rulesChanged' as const, version, author, actor: tx.caller?.actor ?? null, ...changes }
  await insertOperatorNotices(tx, [{ key: `rules/${version}/${name}/${stage}/${tx.now.toISOString()}`, body }])
  await insertSpread(tx, { version, shifts: shiftsOf(was, (await readRulesInForce(tx)).rules) })
  return true
}
