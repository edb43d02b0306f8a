/**
 * The first look of a sweep at the SIMs of a range: passes over those for which an evaluation would surely change
 * nothing. It decides nothing about the others, and writes nothing.
 *
 * It goes through all of them in one piece without an object for each. Facts, attachment and answers come from the same
 * functions as in a look (look.ts).
 */
import { scopesAt } from '../../../rules/alerts/alert-state.ts'
import { isWatchedSim } from '../../../rules/alerts/subject.ts'
import type { CompiledRule } from '../../../rules/compile/compile-rule.ts'
import { NEVER, tariffBit } from '../../../rules/compile/flip.ts'
import { beginsNothing, flipsAt } from '../../../rules/compile/judge-subject.ts'
import type { MatchProperties } from '../../../rules/engine/match.ts'
import { type Moment, SIM_FACTS } from '../../../rules/facts-of.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { simsWithAlerts } from '../../alerts/rows/alerts.ts'
import type { RulesInForce } from '../../rules/rules-in-force.ts'
import type { Situation } from '../read-facts.ts'
import type { Range } from '../rows/sim-lines.ts'
import { type JudgedLine, readJudgedLines } from './judged-lines.ts'

/** The result of a first look. */
export interface FirstLook {
  /** How many SIMs it went through. */
  readonly passed: number
  /** Ids of the SIMs still to be looked at, in their order. */
  readonly unclear: readonly number[]
  /** The earliest instant at which time alone may change an answer about one of the others. */
  readonly flipsAt: number
  /** Id of the first SIM beyond `most`; null if there is none. */
  readonly beyond: number | null
}

/** Looks at provisioned SIMs of a range in the running cycle. @param most so many at most */
export async function firstLook(
  tx: TenantTx,
  { moment }: Situation,
  rules: RulesInForce,
  range: Range,
  most: number,
): Promise<FirstLook> {
  const lines = await readJudgedLines(tx, moment.cycle.key, range, most)
  const { line, count, several, beyond } = lines
  if (count === 0) return { passed: 0, unclear: [], flipsAt: NEVER, beyond }
  const alerted = await simsWithAlerts(tx, lines, scopesAt(moment))
  const unchangedUntil = judging(tx.tenantId, moment, rules, line)
  const unclear: number[] = []
  let flips = NEVER
  let before = 0
  while (line.next() && line.simId !== beyond) {
    const { simId } = line
    if (simId === before) continue
    before = simId
    const until = alerted.has(simId) || several.has(simId) ? null : unchangedUntil()
    if (until === null) unclear.push(simId)
    else flips = Math.min(flips, until)
  }
  return { passed: count, unclear, flipsAt: flips, beyond }
}

/**
 * Makes a function that returns until when time alone would surely change nothing in an evaluation of the SIM of the
 * present line; null if it may now. The SIM has no alert, and no second ledger row.
 */
function judging(tenantId: string, moment: Moment, { compiled }: RulesInForce, line: JudgedLine): () => number | null {
  const at = { now: moment.at, cycle: moment.cycle, staleSince: moment.feed.staleSince }
  const to: MatchProperties = {
    subject: 'sim',
    tenantId,
    get poolName() {
      return SIM_FACTS.poolName(line, moment)
    },
    get tag() {
      return SIM_FACTS.tag(line, moment)
    },
    get tariffType() {
      return SIM_FACTS.tariffType(line, moment)
    },
  }
  const isKnown = (attached: readonly CompiledRule[]) =>
    line.isLimitKnown && (line.isOverageKnown || !attached.some(({ reads }) => reads.includes('overageMB')))
  return () => {
    if (!isWatchedSim(line)) return NEVER
    const attached = compiled.attach(to)
    if (attached.length === 0) return NEVER
    if (!isKnown(attached)) return null
    const row = compiled.rows.line(line, moment)
    for (const one of attached) if (!beginsNothing(one, row)) return null
    return flipsAt(attached, row, at, tariffBit(line.tariffType))
  }
}
