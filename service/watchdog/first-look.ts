/**
 * The first look of a sweep at the SIMs of a range: passes over those for which an evaluation would surely change
 * nothing. It decides nothing about the others, and writes nothing.
 *
 * It goes through all of them in one piece without an object for each. Facts, attachment and answers come from the same
 * functions as in a look (look-at.ts).
 */
import { TariffType } from '../../domain/codes.ts'
import { governingTariff, isShared, ledgerFigures } from '../../domain/usage/allowance.ts'
import { scopesAt } from '../../rules/alerts/alert-state.ts'
import { isWatchedSim } from '../../rules/alerts/subject.ts'
import { NEVER, nextLookAt, tariffBit } from '../../rules/compile/flip.ts'
import { beginsNothing, flipsAt } from '../../rules/compile/judge-subject.ts'
import { type MatchProperties, mayWatchStock } from '../../rules/engine/match.ts'
import { type Moment, SIM_FACTS, type SimFactRow } from '../../rules/facts-of.ts'
import type { CopiedRows } from '../../store/copied-rows.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { simsWithAlerts, simsWithOpenAlerts } from '../alerts/rows/alerts.ts'
import type { RulesInForce } from '../rules/rules-in-force.ts'
import { sumPools } from '../usage/rows/pool-totals.ts'
import type { Situation } from './read-batch.ts'
import { type PoolOfLimits, type PricedTariff, poolsOfSims, pricedTariffs, type Range } from './rows/facts.ts'
import { eachLine, readSimLines, SimLine } from './rows/sim-lines.ts'

interface FirstLook {
  /** How many SIMs it went through. */
  readonly passed: number
  /** Ids of the SIMs still to be looked at, in their order. */
  readonly unclear: readonly number[]
  /** The earliest instant at which time alone may change an answer about one of the others. */
  readonly flipsAt: number
  /** Id of the first SIM beyond `most`; null if there is none. */
  readonly beyond: number | null
}

/**
 * Looks at SIMs of a range in the running cycle: at Unprovisioned ones only if a rule watches them, or an alert of
 * theirs has to end.
 */
export async function firstLook(
  tx: TenantTx,
  { moment }: Situation,
  rules: RulesInForce,
  range: Range,
): Promise<FirstLook> {
  const withStock = mayWatchStock(rules.rules, tx.tenantId)
  const { line, count, several, beyond } = await readJudgedLines(tx, moment.cycle.key, range, withStock)
  const scopes = scopesAt(moment)
  const alerted = await simsWithAlerts(tx, { fromId: range.fromId, toId: beyond ?? range.toId }, scopes)
  const unchangedUntil = judging(tx.tenantId, moment, rules, line)
  const unclear: number[] = []
  // A new SIM is Unprovisioned, is not marked, and has the greatest id.
  let flips = withStock && range.toId === null && beyond === null ? nextLookAt({ now: moment.at, ...moment }) : NEVER
  let before = 0
  while (line.next() && line.simId !== beyond) {
    const { simId } = line
    if (simId === before) continue
    before = simId
    const until = alerted.delete(simId) || several.has(simId) ? null : unchangedUntil()
    if (until === null) unclear.push(simId)
    else flips = Math.min(flips, until)
  }
  // Unprovisioned SIMs that were not read: no rule watches them.
  unclear.push(...(await simsWithOpenAlerts(tx, [...alerted], scopes)))
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
    get status() {
      return line.status
    },
  }
  return () => {
    if (!isWatchedSim(line)) return NEVER
    const attached = compiled.attach(to)
    if (attached.length === 0) return NEVER
    if (!line.isLimitKnown) return null
    if (!line.isOverageKnown && attached.some(({ reads }) => reads.some((fact) => OF_OVERAGE.has(fact)))) return null
    const row = compiled.rows.line(line, moment)
    for (const one of attached) if (!beginsNothing(one, row)) return null
    return flipsAt(attached, row, at, tariffBit(line.tariffType))
  }
}

/** Facts that follow from the overage of a SIM. */
export const OF_OVERAGE: ReadonlySet<string> = new Set(['overageMB', 'overageCost', 'cost'])

interface Seats {
  readonly pools: ReadonlyMap<number, PoolOfLimits>
  readonly tariffs: ReadonlyMap<number, PricedTariff>
}

/** The SIM of the present line, with its pool and figures. Sums over windows are 0: they are not read. */
class JudgedLine extends SimLine implements SimFactRow {
  readonly #seats: Seats
  pool: PoolOfLimits | null = null
  tariffType: TariffType | null = null
  fees: PricedTariff | null = null
  limitBytes = 0
  usageBytes = 0
  remainingBytes = 0
  overageBytes = 0
  /** Right if the SIM has only this ledger row. */
  cycleBytes = 0
  /** Whether limit and remaining bytes are right. */
  isLimitKnown = true
  /** Whether the overage is right. In a shared pool over its limit it depends on the other SIMs. */
  isOverageKnown = true
  readonly shortBytes = 0
  readonly longBytes = 0
  readonly dayBytes = 0
  readonly weekBytes = 0
  readonly averageBytes = 0
  readonly averageSince = null
  readonly todayBytes = 0
  readonly hourMessages = 0
  readonly dayMessages = 0
  readonly daySessions = 0

  constructor(rows: CopiedRows, seats: Seats) {
    super(rows)
    this.#seats = seats
  }

  override next(): boolean {
    if (!super.next()) return false
    const pool = this.poolId === null ? null : (this.#seats.pools.get(this.poolId) ?? null)
    this.pool = pool
    this.fees = governingTariff(this.#tariff(this.tariffId), pool?.tariff ?? null)
    this.tariffType = this.fees?.type ?? null
    this.cycleBytes = this.bytes
    const isJudged = this.ledgerPoolId === (this.poolId ?? 0)
    this.contributing = isJudged && this.contributing
    this.#judge(isJudged ? this.bytes : 0, pool)
    return true
  }

  #judge(usageBytes: number, pool: PoolOfLimits | null): void {
    const { contributing } = this
    const governing = governingTariff(this.#tariff(this.ledgerTariffId), pool?.tariff ?? null)
    const figures = ledgerFigures(governing, { usageBytes, contributing }, pool?.contributing ?? 0)
    const isDivided = pool !== null && isShared(pool.tariff)
    this.usageBytes = usageBytes
    this.limitBytes = figures.limitBytes
    this.remainingBytes = figures.remainingBytes
    this.overageBytes = isDivided && pool.overageBytes === 0 ? 0 : figures.excessBytes
    // A Fixed share outside pools is one of all SIMs outside pools, which are not counted here.
    this.isLimitKnown = pool !== null || governing?.type !== TariffType['Fixed Pool']
    this.isOverageKnown = !isDivided || this.overageBytes === 0
  }

  #tariff(id: number | null): PricedTariff | null {
    return id === null ? null : (this.#seats.tariffs.get(id) ?? null)
  }
}

interface JudgedLines {
  /** Before the first line. A SIM with several ledger rows has several lines. */
  readonly line: JudgedLine
  /** How many SIMs there are, without the one beyond. */
  readonly count: number
  /** SIMs with several ledger rows in the cycle: not all that they are judged by stands in one line. */
  readonly several: ReadonlySet<number>
  /** Id of the first SIM beyond `most`, whose line is the last; null if there is none. */
  readonly beyond: number | null
}

/** Reads SIMs of a range of ids, with their ledger rows of the running cycle. @param withStock Unprovisioned ones too */
export async function readJudgedLines(
  tx: TenantTx,
  cycleKey: string,
  of: Range,
  withStock: boolean,
): Promise<JudgedLines> {
  const rows = await readSimLines(tx, cycleKey, { ...of, most: of.most + 1 }, withStock)
  const { poolIds, tariffIds, ...found } = overview(rows, of.most)
  await sumPools(tx, cycleKey, poolIds)
  const seats = { pools: await poolsOfSims(tx, cycleKey, poolIds), tariffs: await pricedTariffs(tx, tariffIds) }
  return { line: new JudgedLine(rows, seats), ...found }
}

function overview(rows: CopiedRows, most: number) {
  const [poolIds, tariffIds, several] = [new Set<number | null>(), new Set<number | null>(), new Set<number>()]
  let [count, last] = [0, 0]
  let beyond: number | null = null
  eachLine(rows, (simId, poolId, tariffId, ledgerTariffId) => {
    if (beyond !== null) return
    if (simId === last) several.add(simId)
    else if (count === most) beyond = simId
    else {
      last = simId
      count += 1
    }
    poolIds.add(poolId)
    tariffIds.add(tariffId).add(ledgerTariffId)
  })
  const present = (ids: ReadonlySet<number | null>) => [...ids].filter((id) => id !== null)
  return { count, several, beyond, poolIds: present(poolIds), tariffIds: present(tariffIds) }
}
