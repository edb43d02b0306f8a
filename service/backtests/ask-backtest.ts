/** Requests a backtest: the question is checked completely before it is queued. */

import type { Backtest } from '../../domain/backtests/backtest.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { activeRuleVersion } from '../rules/rows/rule-sets.ts'
import { checkVersion } from '../rules/rule-versions.ts'
import { type CheckedRules, checkRules } from '../rules/rules-in-force.ts'
import { tenantExists } from '../tenants/rows/tenants.ts'
import { insertBacktest, lockBacktests } from './rows/backtests.ts'

const MOST_WAITING = 20

export interface BacktestQuestion {
  readonly tenantId: string
  /** How many of the cycles that ended last, 1 to 3. */
  readonly cycles: number
  /** A stored version. Default: the one in force, unless files are given. */
  readonly version?: number | undefined
  /** Files not stored. */
  readonly files?: readonly RuleSource[] | undefined
}

/**
 * Checks the rules of a question that brings files.
 *
 * @returns the checked set; undefined if it brings none
 * @throws ServiceError `invalid_request`, `rules_rejected`
 */
export async function checkQuestion({ version, files }: BacktestQuestion): Promise<CheckedRules | undefined> {
  if (version !== undefined && files !== undefined)
    throw new ServiceError('invalid_request', 'version: got a version and files, expected one of them', {
      errors: [{ pointer: '/version', detail: 'got a version and files, expected one of them' }],
    })
  return files === undefined ? undefined : checkRules(files)
}

/**
 * Queues a backtest.
 *
 * @param checked result of `checkQuestion`
 * @throws ServiceError `tenant_not_found`, `rules_version_not_found`, `backtest_limit`; `rules_rejected` if this build
 *   refuses the version
 */
export async function askBacktest(
  tx: PlatformTx,
  question: Omit<BacktestQuestion, 'files'>,
  checked: CheckedRules | undefined,
): Promise<Backtest> {
  const { tenantId, cycles } = question
  if (!(await tenantExists(tx, tenantId)))
    throw new ServiceError('tenant_not_found', `tenantId: there is no tenant ${tenantId}.`, {
      errors: [{ pointer: '/tenantId', detail: `there is no tenant ${tenantId}` }],
    })
  const version = checked === undefined ? (question.version ?? (await activeRuleVersion(tx))) : null
  if (version === undefined) throw new ServiceError('rules_version_not_found', 'No version of the rules is in force.')
  if (version !== null) await checkVersion(tx, version)
  if ((await lockBacktests(tx)) >= MOST_WAITING)
    throw new ServiceError('backtest_limit', `${MOST_WAITING} backtests wait or run already.`)
  return insertBacktest(tx, { tenantId, cycles, version, files: checked?.files ?? null })
}
