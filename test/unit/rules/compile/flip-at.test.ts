import { describe, expect, test } from 'vitest'
import { TariffType } from '../../../../domain/codes.ts'
import { operatorNames } from '../../../../domain/rules/operators.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../../../domain/watchdog/subject.ts'
import { compileConditions } from '../../../../rules/compile/compile-conditions.ts'
import { rowOf } from '../../../../rules/compile/fact-row.ts'
import { LOOKS_PER_CYCLE, NEVER, tariffBit } from '../../../../rules/compile/flip.ts'
import { type Condition, factsRead, type Leaf, leavesOf, type Operand } from '../../../../rules/conditions.ts'
import { operatorNamed } from '../../../../rules/engine/operators.ts'
import { type Fact, type Facts, factsOf } from '../../../../rules/facts.ts'
import { cases } from '../../../setup/cases.ts'
import { type Random, randomFrom, SEED } from '../../../setup/seed.ts'

import { type AgingSubject, aSubject, factsOfColumns } from './subjects.ts'

const CASES = cases(50_000)
const TARIFFS = Object.values(TariffType)

/** Whether a fact is read again `LOOKS_PER_CYCLE` times under these tariffs, and counts as unmoved between. */
const isSampled = ({ withTime, movedUnder, name }: Fact, tariffs: number, now: Facts): boolean =>
  withTime === 'falls' ||
  (withTime === 'expires' && now[name] !== false) ||
  (withTime === 'elsewhere' && (movedUnder === null || movedUnder.some((type) => (tariffs & tariffBit(type)) !== 0)))

const lookMs = ({ moment: { cycle } }: AgingSubject): number => (cycle.endsAt - cycle.startsAt) / LOOKS_PER_CYCLE

/** Values that a fact has, now or later, so that comparisons are near their edge. */
function aNearValue({ type, name, nullable }: Fact, subject: AgingSubject, random: Random) {
  if (nullable && random.chance(0.1)) return null
  const { at, cycle } = subject.moment
  if (type === 'boolean') return random.chance(0.5)
  const facts = subject.factsAt(random.chance(0.5) ? at : at + random.below(cycle.endsAt - at))
  const value = facts[name] ?? (type === 'string' ? 'Vans' : 5)
  return typeof value === 'number' && random.chance(0.3) ? Math.round(value) : value
}

function aLeaf(kind: SubjectKind, subject: AgingSubject, random: Random): Leaf {
  const facts = [...factsOf(kind).values()]
  // Ageing facts are what this is about.
  const fact = random.pick(random.chance(0.5) ? facts.filter(({ withTime }) => withTime === 'ages') : facts)
  const operator = random.pick(operatorNames())
  const near = () => aNearValue(fact, subject, random) ?? 5
  const operandOf = (): Operand => {
    if (operatorNamed(operator)?.takes === 'presence') return random.chance(0.5)
    if (operatorNamed(operator)?.takes === 'list') return [near(), near()]
    return random.chance(0.25) ? { fact: random.pick(facts).name } : near()
  }
  return { fact: fact.name, operator, value: operandOf() }
}

function aCondition(kind: SubjectKind, subject: AgingSubject, random: Random, depth: number): Condition {
  if (depth === 0 || random.chance(0.3)) return aLeaf(kind, subject, random)
  const members = () => Array.from({ length: 1 + random.below(3) }, () => aCondition(kind, subject, random, depth - 1))
  const share = random.real()
  if (share < 0.15) return { not: aCondition(kind, subject, random, depth - 1) }
  return share < 0.6 ? { all: members() } : { any: members() }
}

/** The facts at a later instant. What is read now and then is as it was, or anything once it is time to look again. */
function laterFacts(kind: SubjectKind, subject: AgingSubject, at: number, tariffs: number, random: Random): Facts {
  const now = subject.factsAt(subject.moment.at)
  const later = subject.factsAt(at)
  const moves = at >= subject.moment.at + lookMs(subject)
  return Object.fromEntries(
    [...factsOf(kind).values()].map((fact) => {
      if (!isSampled(fact, tariffs, now)) return [fact.name, later[fact.name] ?? null]
      return [fact.name, moves ? aNearValue(fact, subject, random) : (now[fact.name] ?? null)]
    }),
  )
}

describe('flipAt', () => {
  test('is never late', { timeout: 0 }, () => {
    const random = randomFrom(SEED)
    let later = 0
    for (let n = 0; n < CASES; n += 1) {
      const kind = random.pick(SUBJECT_KINDS)
      const subject = aSubject(kind, random)
      const condition = aCondition(kind, subject, random, 3)
      const tariffs = TARIFFS.reduce<number>((bits, type) => (random.chance(0.4) ? bits | tariffBit(type) : bits), 0)
      const { at: now, cycle } = subject.moment
      const moment = { now, cycle }
      const { decide, flipAt } = compileConditions(condition, kind)
      const row = rowOf(subject.factsAt(now))
      const flip = flipAt === null ? NEVER : flipAt(row, moment, tariffs)
      const end = Math.min(flip, cycle.endsAt)
      const leafFlips = leavesOf(condition).map((leaf) => compileConditions(leaf, kind).flipAt?.(row, moment, tariffs))
      const instants = [now + random.below(end - now), Math.ceil(end) - 1, ...leafFlips.map((at) => (at ?? now) + 2)]
      for (const at of instants) {
        if (at <= now || at >= end) continue
        later += 1
        const answer = decide(rowOf(laterFacts(kind, subject, at, tariffs, random)))
        if (answer === decide(row)) continue
        expect.fail(
          `seed ${SEED}, case ${n}: flips at ${at - now} of ${flip - now} ms: ${JSON.stringify(condition)} of ${JSON.stringify(subject.factsAt(now))}`,
        )
      }
      for (const name of factsRead(condition)) {
        const unread = rowOf({ ...subject.factsAt(now), [name]: undefined } as any)
        expect(flipAt?.(unread, moment, tariffs) ?? NEVER).toBeLessThanOrEqual(flip)
      }
    }
    expect(later).toBeGreaterThan(CASES)
  })

  test('is the millisecond of the flip for an ageing fact', () => {
    const random = randomFrom(SEED)
    let flips = 0
    while (flips < 2000) {
      const kind = random.pick(SUBJECT_KINDS)
      const subject = aSubject(kind, random)
      const { at: now, cycle } = subject.moment
      const fact = random.pick([...factsOf(kind).values()].filter(({ withTime }) => withTime === 'ages'))
      const value = subject.factsAt(now + random.below(cycle.endsAt - now))[fact.name]
      if (typeof value !== 'number' || value === subject.factsAt(now)[fact.name]) continue
      const operator = random.pick(['lessThan', 'lessThanInclusive', 'not:greaterThan', 'greaterThanInclusive'])
      const { decide, flipAt } = compileConditions({ fact: fact.name, operator, value }, kind)
      const row = rowOf(subject.factsAt(now))

      const flip = flipAt?.(row, { now, cycle }, 0) ?? NEVER

      // A time ahead of the clock ages from then on only.
      if (Number(subject.factsAt(now)[fact.name]) <= 0) continue
      flips += 1
      expect(decide(rowOf(subject.factsAt(flip + 2)))).not.toBe(decide(row))
    }
  })

  const november = { startsAt: Date.UTC(2026, 10, 1), endsAt: Date.UTC(2026, 11, 1), key: '2026-11' }
  const now = Date.UTC(2026, 10, 10)
  const day = 86_400_000
  const look = now + day / 24
  const silent = { fact: 'silentPct', operator: 'greaterThanInclusive', value: 5 }
  const feed = { fact: 'feedAgePct', operator: 'lessThan', value: 5 }
  const active = { fact: 'status', operator: 'equal', value: 1 }
  const over = { fact: 'overageMB', operator: 'greaterThan', value: 0 }
  const facts = { silentPct: 1, feedAgePct: 0.1, status: 1, overageMB: 0 }

  test.each<[string, Condition, object, number, number]>([
    ['a comparison of what is still: never', active, {}, 0, NEVER],
    ['an age: when it is reached', silent, {}, 0, now + 1.2 * day],
    ['an age that is passed: never', silent, { silentPct: 6 }, 0, NEVER],
    ['an age that is null: never', silent, { silentPct: null }, 0, NEVER],
    ['an age that was not read: now', silent, { silentPct: undefined }, 0, now],
    ['what others move: at the next look', feed, {}, 0, look],
    ['a share of a pool, outside shared pools: never', over, {}, tariffBit(TariffType.Standard), NEVER],
    ['a share of a pool, in one: at the next look', over, {}, tariffBit(TariffType['Dynamic Pool']), look],
    ['an unmet all: when its last unmet member may flip', { all: [active, feed, silent] }, {}, 0, now + 1.2 * day],
    ['an all that something still keeps unmet: never', { all: [active, feed, silent] }, { status: 2 }, 0, NEVER],
    ['a met all: when its first member may flip', { all: [active, feed, silent] }, { silentPct: 6 }, 0, look],
    ['an unmet any: when its first member may flip', { any: [silent, over] }, {}, 0, now + 1.2 * day],
    ['a met any: when its last met member may flip', { any: [{ not: silent }, feed] }, {}, 0, now + 1.2 * day],
    ['a negation: when its inside may flip', { not: silent }, {}, 0, now + 1.2 * day],
  ])('of %s', (_, condition, changes, tariffs, expected) => {
    const { flipAt } = compileConditions(condition, 'sim')

    const flip = flipAt?.(rowOf({ ...facts, ...changes }), { now, cycle: november }, tariffs) ?? NEVER

    // The closed form is rounded down to a millisecond.
    expect(expected === NEVER ? flip : Math.abs(flip - expected) <= 1).toBe(expected === NEVER ? NEVER : true)
  })
})

describe('the catalogue', () => {
  test('says of every fact how it moves with time', () => {
    const random = randomFrom(SEED)
    const aged = new Set<string>()
    for (let n = 0; n < 3000; n += 1) {
      const kind = random.pick(SUBJECT_KINDS)
      const subject = aSubject(kind, random)
      const { at, cycle } = subject.moment
      const later = at + random.below(cycle.endsAt - at)
      const [before, after] = [subject.factsAt(at), subject.factsAt(later)]
      for (const fact of factsOf(kind).values()) {
        const [a, b] = [before[fact.name], after[fact.name]]
        const rate = { '%': 100 / (cycle.endsAt - cycle.startsAt), hours: 1 / 3_600_000, minutes: 1 / 60_000 }
        const rise = (later - at) * (rate[fact.unit as '%'] ?? Number.NaN)
        if (fact.withTime === 'still') expect(b, fact.name).toBe(a)
        if (fact.withTime !== 'ages') continue
        if (a === null) expect(b, fact.name).toBe(null)
        else {
          expect(Number(b), fact.name).toBeGreaterThanOrEqual(Number(a))
          expect(Number(b) - Number(a), fact.name).toBeLessThanOrEqual(rise + 1e-6)
          if (b !== a) aged.add(`${kind} ${fact.name}`)
        }
      }
    }
    const ageing = SUBJECT_KINDS.flatMap((kind) =>
      [...factsOf(kind).values()].filter(({ withTime }) => withTime === 'ages').map(({ name }) => `${kind} ${name}`),
    )

    expect([...aged].sort()).toEqual(ageing.sort())
  })

  test.each([
    ['sim', 'window'],
    ['pool', 'window'],
    ['pool', 'scan'],
    ['tag', 'scan'],
  ] as const)('says which facts of a %s cost a %s', (kind, cost) => {
    const random = randomFrom(SEED)
    const changed = new Set(Array.from({ length: 200 }, () => factsOfColumns(kind, cost, random)).flat())
    const named = [...factsOf(kind).values()].filter((fact) => fact.cost === cost).map(({ name }) => name)

    expect([...changed].sort()).toEqual(named.sort())
  })

  test('has bounds that facts keep', () => {
    const random = randomFrom(SEED)
    for (let n = 0; n < 3000; n += 1) {
      const kind = random.pick(SUBJECT_KINDS)
      const subject = aSubject(kind, random)
      for (const [name, value] of Object.entries(subject.factsAt(subject.moment.at))) {
        const { min, max } = factsOf(kind).get(name)!
        if (typeof value !== 'number') continue
        expect(value, name).toBeGreaterThanOrEqual(min ?? -Infinity)
        expect(value, name).toBeLessThanOrEqual(max ?? Infinity)
      }
    }
  })
})
