/** Reads what an evaluation works on: the facts of a batch of subjects at one instant, and the rules of each. */

import { WatchdogMode } from '../../domain/codes.ts'
import { SUBJECT_CODES, type SubjectCode } from '../../domain/watchdog/subject.ts'
import { rulesFor } from '../../rules/engine/match.ts'
import { type DueMark } from '../../store/due.ts'
import { poolsOfSims } from '../../store/estate/sims.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { currentCycle, tenantSettings } from '../../store/usage/cycles.ts'
import { divideOverage } from '../../store/usage/figures.ts'
import { poolFactRows, simRows, tenantFactRow } from '../../store/watchdog/facts.ts'
import type { EvaluationOptions, SubjectFacts } from './evaluation.ts'
import { type Moment, poolFactsOf, SILENT_SHARE, simFactsOf, tenantFactsOf, windowsOf } from './facts.ts'

export interface Batch {
  readonly moment: Moment
  readonly tenantName: string
  readonly enforcementEnabled: boolean
  readonly rulesVersion: number
  /** This build refuses the set that should be in force. What the rules of that set asked for is not taken back. */
  readonly isRefused: boolean
  readonly ruleNames: ReadonlySet<string>
  readonly subjects: readonly SubjectFacts[]
}

/** Reads a batch. Leaves out unprovisioned SIMs and subjects that no longer exist. */
export async function readBatch(tx: TenantTx, marks: readonly DueMark[], options: EvaluationOptions): Promise<Batch> {
  const { version, rules, refused } = await options.rules(tx)
  const { billingCycle, enforcementEnabled } = await tenantSettings(tx)
  const cycle = await currentCycle(tx)
  const idsOf = (kind: SubjectCode) => marks.filter((mark) => mark.kind === kind).map(({ id }) => id)
  const [simIds, poolIds] = [idsOf(SUBJECT_CODES.sim), idsOf(SUBJECT_CODES.pool)]
  await divideOverage(tx, cycle.key, [...new Set([...poolIds, ...(await poolsOfSims(tx, simIds)), 0])])
  const tenant = await tenantFactRow(tx, cycle.key)
  const newestUsageAt = tenant?.newestUsageAt ?? null
  const moment: Moment = { at: tx.now.getTime(), cycle, billingCycle, newestUsageAt }
  const windows = windowsOf(moment)
  const attached = (
    subject: Omit<SubjectFacts, 'rules' | 'isWatched'>,
    tariffType: string | null,
    tag: string | null,
  ): SubjectFacts => {
    const { poolName } = subject.facts
    const to = {
      subject: subject.name,
      tenantId: tx.tenantId,
      poolName: typeof poolName === 'string' ? poolName : null,
      tag,
      tariffType,
    }
    const isWatched = !subject.exempt && subject.mode !== WatchdogMode.Disabled
    return { ...subject, isWatched, rules: isWatched ? rulesFor(rules, to) : [] }
  }
  const sims = (simIds.length === 0 ? [] : await simRows(tx, cycle.key, simIds, windows)).map((row) => {
    const facts = simFactsOf(row, moment)
    const { watchdogMode: mode, tariffType, tag } = facts
    const subject = { kind: SUBJECT_CODES.sim, id: row.simId }
    const label = tag === '' ? row.iccid : tag
    return attached(
      { subject, name: 'sim', label, poolId: row.poolId, mode: asMode(mode), exempt: row.exempt, facts },
      tariffType,
      tag,
    )
  })
  const silentBefore = new Date(moment.at - SILENT_SHARE * (cycle.endsAt - cycle.startsAt))
  const pools = (poolIds.length === 0 ? [] : await poolFactRows(tx, cycle.key, poolIds, windows, silentBefore)).map(
    (row) => {
      const facts = poolFactsOf(row, moment)
      const subject = { kind: SUBJECT_CODES.pool, id: row.poolId }
      return attached(
        { subject, name: 'pool', label: row.poolName, poolId: row.poolId, mode: row.mode, exempt: false, facts },
        facts.tariffType,
        null,
      )
    },
  )
  const wantsTenant = marks.some(({ kind }) => kind === SUBJECT_CODES.tenant)
  const whole =
    wantsTenant && tenant !== undefined
      ? [
          attached(
            {
              subject: { kind: SUBJECT_CODES.tenant, id: 0 },
              name: 'tenant',
              label: tenant.name,
              poolId: null,
              mode: WatchdogMode.Monitor,
              exempt: false,
              facts: tenantFactsOf(tenant, moment),
            },
            null,
            null,
          ),
        ]
      : []
  return {
    moment,
    tenantName: tenant?.name ?? '',
    enforcementEnabled,
    rulesVersion: version,
    isRefused: refused !== null,
    ruleNames: new Set(rules.map(({ name }) => name)),
    subjects: [...sims, ...pools, ...whole],
  }
}

function asMode(code: number): WatchdogMode {
  const found = Object.values(WatchdogMode).find((mode) => mode === code)
  if (found === undefined) throw new Error(`not a watchdog mode: ${code}`)
  return found
}
