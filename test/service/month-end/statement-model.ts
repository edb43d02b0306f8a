/**
 * A second implementation of statements, written to be read. It computes a cycle's statement in bigint, from the
 * history and the usage records alone, by the service's rules for allowance, overage and charges. It shares only codes
 * and types with the service.
 */
import { TariffType } from '../../../domain/codes.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { amountsOf, contributes, type LineModel, tariffOf } from '../usage/figure-model.ts'
import { type PoolModel, placesOf, type Terms, type World } from '../usage/figure-world.ts'

export const AMOUNTS = [
  'bytes',
  'voiceSeconds',
  'smsCount',
  'limitBytes',
  'overageBytes',
  'feeMicro',
  'smsMicro',
  'voiceMicro',
  'overageMicro',
] as const
type Amounts<N> = Readonly<Record<(typeof AMOUNTS)[number], N>>
/** The figures of a statement line: of a SIM, or of a pool itself if `simId` is null. */
export type Figures = Amounts<bigint> & { readonly poolId: number; readonly simId: number | null }

/** The figures of a line, of the service or of the model. */
export const figures = (line: Amounts<number | bigint> & Pick<Figures, 'poolId' | 'simId'>): Figures => ({
  ...(Object.fromEntries(AMOUNTS.map((name) => [name, BigInt(line[name])])) as Amounts<bigint>),
  poolId: line.poolId,
  simId: line.simId,
})
/** A row of zeros counts as no row. */
export const hasAmounts = (line: Amounts<bigint>) => AMOUNTS.some((name) => line[name] !== 0n)

/** What a statement is computed from. */
export type Past = Pick<World, 'lines' | 'pools' | 'tariffs'>
type Place = PoolModel & { readonly id: number }

interface Row {
  readonly line: LineModel
  readonly bytes: bigint
  readonly voiceSeconds: bigint
  readonly smsCount: bigint
  readonly contributing: boolean
  /** The governing tariff; null: none. */
  readonly tariff: Terms | null
}

const SECONDS = 60n
const GB = 1_000_000_000n
const halfUp = (dividend: bigint, divisor: bigint) => {
  const whole = dividend / divisor
  return (dividend % divisor) * 2n >= divisor ? whole + 1n : whole
}
const sum = <T>(all: readonly T[], of: (one: T) => bigint) => all.reduce((total, one) => total + of(one), 0n)
const above = (bytes: bigint, limit: bigint) => (bytes > limit ? bytes - limit : 0n)

const isShared = (place: Place) => place.tariff !== null && place.tariff.type !== TariffType.Standard

function governing(own: Terms | null, place: Place): Terms | null {
  if (place.tariff === null) return own
  if (isShared(place)) return place.tariff
  return own?.type === TariffType.Standard ? own : place.tariff
}

function rowsOf(world: Past, cycle: Cycle, place: Place): Row[] {
  return world.lines.flatMap((line) => {
    const { bytes, voiceSeconds, smsCount } = amountsOf(line, cycle, place.id)
    const contributing = contributes(line, cycle, place.id)
    if (!contributing && bytes === 0 && voiceSeconds === 0 && smsCount === 0) return []
    const own = world.tariffs.get(tariffOf(line, cycle, place.id) ?? 0) ?? null
    const used = { bytes: BigInt(bytes), voiceSeconds: BigInt(voiceSeconds), smsCount: BigInt(smsCount) }
    return [{ line, ...used, contributing, tariff: governing(own, place) }]
  })
}

function limitOf(row: Row, place: Place, contributing: bigint): bigint {
  if (!row.contributing || row.tariff === null) return 0n
  const allowance = BigInt(row.tariff.allowanceBytes)
  return place.tariff?.type === TariffType['Fixed Pool'] ? allowance / contributing : allowance
}

/**
 * Divides the overage of a shared pool among its rows: by their excess over their share, or by usage if no row exceeds
 * its share. The bytes left by rounding go to the largest remainders, then to the lowest SIM ids.
 */
function divided(rows: readonly Row[], limits: readonly bigint[], capacity: bigint): bigint[] {
  const over = above(
    sum(rows, ({ bytes }) => bytes),
    capacity,
  )
  const excess = rows.map(({ bytes }, i) => above(bytes, limits[i] ?? 0n))
  const weights = excess.some((one) => one > 0n) ? excess : rows.map(({ bytes }) => bytes)
  const total = sum(weights, (weight) => weight)
  if (over === 0n || total === 0n) return rows.map(() => 0n)
  const parts = weights.map((weight) => (over * weight) / total)
  const rest = Number(over - sum(parts, (part) => part))
  const byRemainder = rows
    .map(({ line }, i) => ({ i, simId: line.simId, remainder: (over * (weights[i] ?? 0n)) % total }))
    .sort((a, b) => (a.remainder === b.remainder ? a.simId - b.simId : a.remainder > b.remainder ? -1 : 1))
  for (const { i } of byRemainder.slice(0, rest)) parts[i] = (parts[i] ?? 0n) + 1n
  return parts
}

function placeLines(world: Past, cycle: Cycle, place: Place): Figures[] {
  const rows = rowsOf(world, cycle, place)
  const contributing = BigInt(rows.filter((row) => row.contributing).length)
  const limits = rows.map((row) => limitOf(row, place, contributing))
  const capacity =
    place.tariff?.type === TariffType['Fixed Pool']
      ? BigInt(place.tariff.allowanceBytes)
      : sum(limits, (limit) => limit)
  const overages = isShared(place)
    ? divided(rows, limits, capacity)
    : rows.map((row, i) => (row.tariff === null ? 0n : above(row.bytes, limits[i] ?? 0n)))
  const sims = rows.map(({ line, tariff, contributing: isHere, ...used }, i): Figures => {
    const fee = (of: (terms: Terms) => number) => (tariff === null ? 0n : BigInt(of(tariff)))
    const overageBytes = overages[i] ?? 0n
    return {
      poolId: place.id,
      simId: line.simId,
      ...used,
      limitBytes: limits[i] ?? 0n,
      overageBytes,
      feeMicro: isHere ? fee(({ simMonthlyFee }) => simMonthlyFee) : 0n,
      smsMicro: used.smsCount * fee(({ smsFee }) => smsFee),
      voiceMicro: halfUp(used.voiceSeconds * fee(({ voiceFee }) => voiceFee), SECONDS),
      overageMicro: halfUp(overageBytes * fee(({ overageFeePerGb }) => overageFeePerGb), GB),
    }
  })
  if (place.tariff === null) return sims
  const bucket = BigInt(place.tariff.fixedBucketCost)
  const wasThere = place.createdAt < cycle.endsAt && place.deletedAt > cycle.startsAt
  if (rows.length === 0 && !(wasThere && bucket > 0n)) return []
  const own: Figures = {
    poolId: place.id,
    simId: null,
    bytes: sum(sims, ({ bytes }) => bytes),
    voiceSeconds: sum(sims, ({ voiceSeconds }) => voiceSeconds),
    smsCount: sum(sims, ({ smsCount }) => smsCount),
    limitBytes: capacity,
    overageBytes: sum(sims, ({ overageBytes }) => overageBytes),
    feeMicro: bucket,
    smsMicro: 0n,
    voiceMicro: 0n,
    overageMicro: 0n,
  }
  return [own, ...sims]
}

/** The statement of the cycle as of now: pools by id, each followed by its SIMs. */
export const statementOf = (world: Past, cycle: Cycle): Figures[] =>
  placesOf(world)
    .toSorted((a, b) => a.id - b.id)
    .flatMap((place) => placeLines(world, cycle, place))

export const chargeOf = (line: Figures) => line.feeMicro + line.smsMicro + line.voiceMicro + line.overageMicro
