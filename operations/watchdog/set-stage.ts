/** Sets the stage of a rule without a new file. */
import { ServiceError } from '../../domain/errors.ts'
import type { Stage } from '../../rules/rule-file.ts'
import { noteChange } from '../../store/audit.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { lockRules } from '../../store/watchdog/rule-sets.ts'
import { insertStage } from '../../store/watchdog/rule-stages.ts'
import { type Change, type RuleChangeOutcome, readRulesInForce, spreadRules } from './rules-in-force.ts'

export interface StageSet {
  readonly rule: string
  readonly stage: Stage
  /** False if it was in this stage already. */
  readonly changed: boolean
}

/**
 * Sets the stage of a rule in force, until its file says another one than now. May be repeated: every subject is looked at again
 * each time, should the first have been broken off.
 *
 * @throws ServiceError `rule_not_found`
 */
export async function setStage(
  store: Store,
  name: string,
  stage: Stage,
  by: Omit<Change, 'expect'>,
): Promise<StageSet> {
  const outcome = await inPlatform(store, async (tx) => {
    await lockRules(tx)
    return change(tx, name, stage, by)
  })
  await spreadRules(store, { ...outcome, changed: true })
  return { rule: name, stage, changed: outcome.changed }
}

async function change(
  tx: PlatformTx,
  name: string,
  stage: Stage,
  { author, reason }: Omit<Change, 'expect'>,
): Promise<RuleChangeOutcome> {
  const { version, rules: was } = await readRulesInForce(tx)
  const rule = was.find((one) => one.name === name)
  if (rule === undefined) throw new ServiceError('rule_not_found', `name: no rule ${name} is in force.`)
  const before = rule.event.params.stage
  if (before === stage) return { version, changed: false, was, rules: was }
  await insertStage(tx, { rule: name, stage, fileStage: rule.fileStage, version, author, reason: reason ?? null })
  const after = { stage, author, ...(reason === undefined ? {} : { reason }) }
  await noteChange(tx, { subject: 'rules', id: name, before: { stage: before }, after })
  const changes = { added: [], changed: [name], removed: [] }
  const body = { kind: 'rulesChanged' as const, version, author, actor: tx.caller?.actor ?? null, ...changes }
  await insertOperatorNotices(tx, [{ key: `rules/${version}/${name}/${stage}/${tx.now.toISOString()}`, body }])
  return { version, changed: true, was, rules: (await readRulesInForce(tx)).rules }
}
