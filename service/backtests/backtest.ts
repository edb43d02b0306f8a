/** A backtest: the effects that a rule set would have had in a tenant's past billing cycles, compared with the log. */

import { type BacktestReport, MOST_CYCLES } from '../../domain/backtests/backtest.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { cycleAt, previousCycle } from '../../domain/time/cycle.ts'
import { type Db, inPlatform, inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import { activeRuleVersion, ruleSetOf } from '../rules/rows/rule-sets.ts'
import { checkRules } from '../rules/rules-in-force.ts'
import { tenantSettings } from '../usage/rows/cycles.ts'
import { type ReplayOptions, replay } from './replay.ts'
import { besideLog, countsByRule, loudestSubjects, mailsByRecipient, shortAlerts } from './rows/report.ts'

/** Most time that it takes, in milliseconds. */
const MOST_MS = 30 * 60_000
/** Most subjects, and most examples of each kind, that a report names. */
const MOST_NAMED = 10
const DAY_MS = 86_400_000

export interface BacktestRequest {
  readonly tenantId: string
  /** How many of the cycles that ended last. */
  readonly cycles: number
  /** A stored version, files not stored, or null: the version in force. */
  readonly rules: number | readonly RuleSource[] | null
}

const LIMITS = [
  'Usage stays as it was recorded, though a suspension would have stopped it.',
  'The service evaluates a moment after an instant, the replay at it: what lasts for less than that lag may differ.',
  'Alerts that had begun before the first cycle begin with it here.',
  'Tickets take effect when they ended; those that the watchdog opens here succeed at once.',
  'SIMs that were taken over in these cycles are Unprovisioned here.',
  'Acknowledgements, and releases of holds, are not repeated. Settings that no caller changed are as they are today.',
]

/**
 * Backtests rules. Changes no row: all is done in temporary tables.
 *
 * @param db a single connection that holds the lock of backtests; its maker closes it afterwards
 * @throws ServiceError `rules_rejected`, `rules_version_not_found`, `tenant_not_found`; `invalid_request` for a wrong
 *   number of cycles or too much usage; `unavailable` after half an hour
 */
export async function backtest(
  db: Db,
  clock: () => number,
  { tenantId, cycles, rules }: BacktestRequest,
  options: ReplayOptions,
): Promise<BacktestReport> {
  const began = clock()
  const store: Store = { db, clock, enqueue: () => undefined }
  const { files, version } = await filesOf(store, rules)
  const { billingCycle, first, last } = await cyclesOf(store, tenantId, cycles)
  const [{ startsAt }, { endsAt }] = [first, last]
  const onProgress = async (done: number, of: number): Promise<void> => {
    if (clock() - began > MOST_MS)
      throw new ServiceError('unavailable', `The backtest has taken ${MOST_MS / 60_000} minutes: take fewer cycles.`)
    await options.onProgress?.(done, of)
  }
  const question = { tenantId, billingCycle, startsAt, endsAt, rules: { version: version ?? 1, files } }
  const replayed = await replay(db, question, { ...options, onProgress })
  const span = { from: new Date(startsAt), until: new Date(endsAt - 1) }
  const days = (endsAt - startsAt) / DAY_MS
  return inTenant(readOnly(store), tenantId, async (tx) => {
    const counts = await countsByRule(tx)
    const mails = await mailsByRecipient(tx)
    const sum = (all: readonly number[]) => all.reduce((a, b) => a + b, 0)
    return {
      tenantId,
      from: span.from.toISOString(),
      until: new Date(endsAt).toISOString(),
      version,
      records: replayed.records,
      seconds: Math.round((clock() - began) / 1000),
      rules: counts,
      mails,
      noise: {
        entriesPerDay: sum(counts.map(({ entries }) => entries)) / days,
        mailsPerDay: sum(mails.map((one) => one.mails)) / days,
        ...(await shortAlerts(tx)),
        loudest: await loudestSubjects(tx, MOST_NAMED),
      },
      log: await besideLog(tx, span, MOST_NAMED),
      undecided: replayed.undecided,
      limits: LIMITS,
    }
  })
}

/** The files of the rules, and their version; null if they are not stored. */
async function filesOf(store: Store, rules: BacktestRequest['rules']) {
  if (rules !== null && typeof rules !== 'number') {
    const { files } = await checkRules(rules)
    return { files, version: null }
  }
  return inPlatform(store, async (tx) => {
    const version = rules ?? (await activeRuleVersion(tx))
    const set = version === undefined ? undefined : await ruleSetOf(tx, version)
    if (set === undefined)
      throw new ServiceError('rules_version_not_found', `There is no version ${version ?? 'in force'}.`)
    return { files: set.files, version: set.version }
  })
}

/** The cycles that ended last: the first and the last of them. */
async function cyclesOf(store: Store, tenantId: string, cycles: number) {
  if (!Number.isInteger(cycles) || cycles < 1 || cycles > MOST_CYCLES)
    throw new ServiceError('invalid_request', `cycles: got ${cycles}, expected 1 to ${MOST_CYCLES}`)
  const { billingCycle } = await inTenant(readOnly(store), tenantId, tenantSettings)
  const last = previousCycle(billingCycle, cycleAt(billingCycle, store.clock()))
  let first = last
  for (let n = 1; n < cycles; n += 1) first = previousCycle(billingCycle, first)
  return { billingCycle, first, last }
}
