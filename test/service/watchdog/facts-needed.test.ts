/** What an evaluation reads: it decides and says the same by the facts that are needed as by all of them, and reads less. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { SUBJECT_KINDS, type Subject, type SubjectKind } from '../../../domain/watchdog/subject.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { evaluateSubject } from '../../../rules/engine/evaluate-subject.ts'
import { factsOf, isMeasure } from '../../../rules/facts.ts'
import { ALL_FACTS, type FactNames, NO_FACTS, neededToTell } from '../../../rules/facts-needed.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { lockAlerts } from '../../../service/alerts/rows/alerts.ts'
import { notePatterns, tagRows } from '../../../service/alerts/rows/tag-patterns.ts'
import { compiledRules, type RulesInForce } from '../../../service/rules/rules-in-force.ts'
import { evaluateAll } from '../../../service/watchdog/evaluate-all.ts'
import { lookAt } from '../../../service/watchdog/look-at.ts'
import { readBatch, readSituation, readSubjects } from '../../../service/watchdog/read-batch.ts'
import { writeDecisions } from '../../../service/watchdog/write-decisions.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { cases } from '../../setup/cases.ts'
import { statementsIn } from '../../setup/count-statements.ts'
import { aStore } from '../../setup/estate.ts'
import { aFile, examplesOf, leaf } from '../../unit/rules/samples.ts'
import { aHarness, evaluationOptions } from '../harness.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-25T12:00:00Z')

const store = await aStore()
const shipped = await readRuleFiles('')

const onDemand = SUBJECT_KINDS.flatMap((kind) =>
  [...factsOf(kind).values()].filter((fact) => fact.isOnDemand && isMeasure(fact)).map((fact) => ({ kind, fact })),
)
const template = fc.option(fc.constantFrom(...onDemand.map(({ fact }) => fact.name)))
const rule = fc.record({
  on: fc.constantFrom(...onDemand),
  least: fc.constantFrom(2, 10, 60),
  says: template,
  ends: template,
  actions: fc.constantFrom(['log'], ['log', 'email']),
  clears: fc.boolean(),
})
type ARule = typeof rule extends fc.Arbitrary<infer T> ? T : never

const placeholder = (kind: SubjectKind, name: string | null) =>
  name !== null && factsOf(kind).has(name) ? `{{${name}}}` : 'something'

function fileOf({ on: { kind, fact }, least, says, ends, actions, clears }: ARule, n: number) {
  const { file, text } = aFile(
    {
      name: `drawn-${n}`,
      subject: kind,
      ...(kind === 'tag' ? { match: { tag: '*' } } : {}),
      conditions: { all: [leaf(fact.name, 'greaterThanInclusive', least)] },
      examples: examplesOf({ [fact.name]: least }, { [fact.name]: least / 2 }),
    },
    {
      message: `It has ${placeholder(kind, says)}`,
      resolvedMessage: `It is over: ${placeholder(kind, ends)}`,
      actions,
      once: 'episode',
      ...(clears ? { clear: { all: [leaf(fact.name, 'lessThan', least / 2)] } } : {}),
    },
  )
  return { file: file.replace('pool/', `${kind}/`), text }
}

async function inForceOf(drawn: readonly ARule[], others: typeof shipped): Promise<RulesInForce> {
  const { rules, faults } = await loadRuleSet([...others, ...drawn.map(fileOf)])
  expect(faults).toEqual([])
  return compiledRules({ version: 1, activatedAt: null, rules, refused: null })
}

const use = fc.record({
  sim: fc.integer({ min: 0, max: 2 }),
  hoursAgo: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 35 * 24 })),
  mb: fc.constantFrom(1, 5, 20, 60),
  smsCount: fc.constantFrom(0, 0, 70),
})
const world = fc.record({
  others: fc.constantFrom(shipped, []),
  rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
  uses: fc.array(use, { minLength: 5, maxLength: 40 }),
})

interface Use {
  readonly sim: number
  readonly hoursAgo: number
  readonly mb: number
  readonly smsCount: number
}

/** A tenant with a shared pool of two SIMs and another of one, and what they have used. */
async function anEstate(uses: readonly Use[]) {
  store.now = NOW - 40 * DAY
  const harness = await aHarness(store)
  const settings = { watchdogMode: WatchdogMode.Enforce, warningThresholdPct: 50, enableBurnRateAlerts: true }
  const poolOf = (type: TariffType) => harness.aPool(type, 100 * MB, { ...settings, name: `of ${type}` })
  const pools = [await poolOf(TariffType['Dynamic Pool']), await poolOf(TariffType.Standard)]
  const sims = [
    ...(await harness.activeSims(2, { poolId: pools[0] ?? 0 })),
    ...(await harness.activeSims(1, { poolId: pools[1] ?? 0 })),
  ]
  store.now = NOW
  await harness.record(
    uses.map(({ sim, hoursAgo, mb, smsCount }) =>
      harness.usage(sims[sim] ?? 0, {
        at: new Date(NOW - hoursAgo * HOUR).toISOString(),
        bytesDown: mb * MB,
        smsCount,
      }),
    ),
  )
  const of =
    (kind: SubjectKind) =>
    (id: number): Subject => ({ kind, id })
  await harness.asTenant((tx) => notePatterns(tx, ['*']))
  const [{ id: tag } = { id: 0 }] = await harness.asTenant((tx) => tagRows(tx, { fromId: 0, toId: null }))
  const subjects = [...pools.map(of('pool')), ...sims.map(of('sim')), of('tenant')(0), of('tag')(tag)]
  return { ...harness, sims, subjects }
}

/** What an evaluation writes that is decided or said. It is taken back. */
async function written(tx: TenantTx, inForce: RulesInForce, subjects: readonly Subject[], needed: FactNames) {
  await sql`savepoint before_it`.execute(tx.q)
  await lockAlerts(tx)
  const batch = await readBatch(tx, subjects, inForce, await readSituation(tx), needed)
  const evaluated = []
  for (const one of batch.subjects) evaluated.push({ ...one, outcomes: await evaluateSubject(one.rules, one.facts) })
  const { checks } = await writeDecisions(tx, batch, evaluated, evaluationOptions())
  const rows = async (query: ReturnType<typeof sql<{ row: string }>>) =>
    (await query.execute(tx.q)).rows.map(({ row }) => row).toSorted()
  const found = {
    undecided: evaluated.flatMap(({ outcomes }) => outcomes.flatMap(({ error }) => error ?? [])),
    checks: [...checks].toSorted(),
    log: await rows(sql`select concat(dedupe_key, level, message, explanation, grounds) as row from watchdog_log`),
    told: await rows(sql`select concat(dedupe_key, due_at, body) as row from notifications`),
    alerts: await rows(sql`
      select concat(rule, subject_kind, subject_id, scope, state, firing, explanation) as row from alerts`),
    wishes: await rows(sql`select request::text as row from workflow_outbox`),
  }
  await sql`rollback to savepoint before_it`.execute(tx.q)
  return found
}

const counted = { worlds: 0, entries: 0, foretold: 0, resolved: 0 }
afterAll(() => {
  // A few worlds may have none of a kind.
  if (counted.worlds > 20)
    expect(Math.min(counted.entries, counted.foretold, counted.resolved), JSON.stringify(counted)).toBeGreaterThan(0)
})

test('an evaluation decides and says the same by the needed facts as by all', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ others, rules, uses }) => {
      const inForce = await inForceOf(rules, others)
      const { asTenant, tenantId, record, usage, sims, subjects } = await anEstate(uses)
      const options = { ...evaluationOptions(), rules: async () => inForce }
      counted.worlds += 1
      for (const hours of [0, 2, 50]) {
        store.now = NOW + hours * HOUR
        await record(sims.slice(1).map((simId) => usage(simId, { bytesDown: 1 })))
        await asTenant(async (tx) => {
          const needed = neededToTell(inForce.rules, tenantId)
          const all = await written(tx, inForce, subjects, ALL_FACTS)

          expect(await written(tx, inForce, subjects, needed)).toEqual(all)
          expect(all.undecided).toEqual([])
          counted.entries += all.log.length
          counted.foretold += all.told.filter((row) => /"pace": "/.test(row)).length
          counted.resolved += all.log.filter((row) => /\/resolved/.test(row)).length

          const { suspects } = await lookAt(tx, subjects, options)
          const isSuspect = new Set(suspects.map(({ kind, id }) => `${kind}/${id}`))
          const calm = subjects.filter(({ kind, id }) => !isSuspect.has(`${kind}/${id}`))
          const { checks: _, ...before } = await written(tx, inForce, [], NO_FACTS)
          expect(await written(tx, inForce, calm, ALL_FACTS)).toMatchObject(before)
        })
        await evaluateAll({ store, options, tenantId }, subjects)
      }
    }),
    { numRuns: cases(60) },
  )
})

test('a fact alone is read as it is beside all others', async () => {
  const uses = Array.from({ length: 60 }, (_, n) => ({ sim: n % 3, hoursAgo: 1 + n * 13, mb: 1 + n, smsCount: n }))
  const { asTenant, subjects } = await anEstate(uses)
  await asTenant(async (tx) => {
    const situation = await readSituation(tx)
    const all = await readSubjects(tx, situation, subjects, ALL_FACTS)
    const seen = new Set<string>()
    for (const { kind, fact } of onDemand) {
      const needed = { ...NO_FACTS, [kind]: new Set([fact.name]) }
      const alone = await readSubjects(tx, situation, subjects, needed)

      for (const [n, { facts }] of alone.entries()) {
        expect(all[n]?.facts, fact.name).toMatchObject(facts)
        const values = new Map<string, unknown>(Object.entries(facts))
        if (alone[n]?.kind === kind && Boolean(values.get(fact.name))) seen.add(`${kind} ${fact.name}`)
      }
    }
    expect(seen.size).toBeGreaterThan(12)
  })
})

test('rules that neither decide by windows nor tell them read no usage records', async () => {
  const { asTenant, tenantId, subjects } = await anEstate([{ sim: 0, hoursAgo: 1, mb: 60, smsCount: 0 }])
  const readBy = async (message: string, fact: string) => {
    const on = { subject: 'sim', conditions: { all: [leaf(fact, 'greaterThan', 5)] } }
    const { text } = aFile({ ...on, examples: examplesOf({ [fact]: 6 }, { [fact]: 5 }) }, { message, actions: ['log'] })
    const { rules, faults } = await loadRuleSet([{ file: 'sim/some-rule.json', text }])
    expect(faults).toEqual([])
    const inForce = compiledRules({ version: 1, activatedAt: null, rules, refused: null })
    const options = { ...evaluationOptions(), rules: async () => inForce }
    const sent = await statementsIn(async () => {
      await asTenant((tx) => lookAt(tx, subjects, options))
      await evaluateAll({ store, options, tenantId }, subjects)
    })
    return sent.filter(({ text }) => /usage_records|usage_buckets/.test(text)).length
  }

  expect(await readBy('SIM {{iccid}}', 'usageMB')).toBe(0)
  // The evaluation reads them to tell, and the look to decide.
  expect(await readBy('SIM {{iccid}}: {{usage24hMB}}', 'usageMB')).toBe(1)
  expect(await readBy('SIM {{iccid}}', 'usage24hMB')).toBe(2)
})
