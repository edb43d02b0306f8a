/**
 * Measures how many SIMs a second the compiled rules decide, compared with json-rules-engine (one engine, reused),
 * @gorules/zen-engine and json-logic-engine, with 10 and with 100 rules. What the others were not asked stands in
 * tools/bench/rule-engines.ts.
 *
 * All must decide every rule of every SIM the same before anything is measured. Rounds alternate, after one to warm up.
 * Exit code 1 if the compiled rules are less than `TARGET` times as fast as json-rules-engine with 100 rules.
 *
 * Usage: node tools/bench/rules.ts [--rounds 7] [--sims 2000]
 */
import { parseArgs } from 'node:util'
import { readRuleFiles } from '../../process/rule-files.ts'
import type { Condition, Group } from '../../rules/conditions.ts'
import { type Fact, type Facts, factsOf } from '../../rules/facts.ts'
import { loadRuleSet } from '../../rules/load/load-rule-set.ts'
import type { Rule } from '../../rules/rule.ts'
import { machine, median } from './measure.ts'
import {
  benchSubject,
  type Contender,
  compiledRules,
  jsonLogicEngine,
  jsonRulesEngine,
  zenEngine,
} from './rule-engines.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, sims: { type: 'string', default: '2000' } },
})
const [rounds, sims] = [Number(values.rounds), Number(values.sims)]
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(sims) || sims < 1) {
  throw new Error(`--rounds and --sims: got ${values.rounds} and ${values.sims}, expected whole numbers from 1`)
}

const TARGET = 200
/** Rules of the run with the target. */
const MANY = 100
/** A contender is measured at least so long in a round. */
const ROUND_MS = 300
const BATCH = 50

const files = (await readRuleFiles('')).filter(({ file }) => file.startsWith('sim/'))
const { rules: shipped, faults } = await loadRuleSet(files)
if (faults.length > 0) throw new Error(`the shipped rules have faults: ${JSON.stringify(faults)}`)

const random = seeded(1)
const subjects = Array.from({ length: sims }, () => benchSubject(factsOfSim()))
console.log(`${machine()}; ${sims} SIMs`)

let ratio = 0
for (const count of [10, MANY]) {
  const rules = Array.from({ length: count }, (_, n) => ruleLike(n))
  const contenders = [
    jsonRulesEngine(rules),
    compiledRules(rules, false),
    compiledRules(rules, true),
    zenEngine(rules),
    jsonLogicEngine(rules),
  ]
  const met = await compareDecisions(contenders)
  const metPct = ((100 * met) / (sims * count)).toFixed(1)
  console.log(`\n${count} rules, ${rounds} rounds; all decide the same, ${metPct} % are met`)
  ratio = await measure(contenders)
}
console.log(`\ntarget: ${TARGET} times json-rules-engine with ${MANY} rules; got ${ratio.toFixed(0)}`)
if (ratio < TARGET) process.exitCode = 1

/**
 * Lets all contenders decide all rules of all SIMs.
 *
 * @returns how many decisions are met
 * @throws Error if two contenders differ
 */
async function compareDecisions([judge, ...others]: readonly Contender[]): Promise<number> {
  let met = 0
  for (const subject of subjects) {
    const expected = (await judge?.met(subject)) ?? []
    for (const other of others) {
      const got = await other.met(subject)
      const [theirs, judged] = [got, expected].map((met) => `rules ${met.join(', ')}`)
      if (theirs === judged) continue
      throw new Error(`${other.name}: got ${theirs}, expected ${judged}, of ${JSON.stringify(subject.facts)}`)
    }
    met += expected.length
  }
  return met
}

/** Measures and prints. @returns the median of how many times as fast the second is as the first */
async function measure(contenders: readonly Contender[]): Promise<number> {
  for (const contender of contenders) await rateOf(contender)
  const rates = contenders.map((): number[] => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [n, contender] of contenders.entries()) rates[n]?.push(await rateOf(contender))
  }
  const [judge = []] = rates
  const ratios = rates.map((own) => median(own.map((rate, round) => rate / (judge[round] ?? rate))))
  for (const [n, { name }] of contenders.entries()) {
    const own = rates[n] ?? []
    const spread = `${whole(Math.min(...own))} to ${whole(Math.max(...own))}`
    const times = (ratios[n] ?? 0).toPrecision(3)
    console.log(`${name.padEnd(22)} ${whole(median(own)).padStart(9)} SIM/s  (${spread})  × ${times}`)
  }
  return ratios[1] ?? 0
}

/** @returns SIMs a second */
async function rateOf({ run }: Contender): Promise<number> {
  const began = performance.now()
  let done = 0
  for (let from = 0; performance.now() - began < ROUND_MS; from = (from + BATCH) % sims) {
    const batch = subjects.slice(from, from + BATCH)
    await run(batch)
    done += batch.length
  }
  return (1000 * done) / (performance.now() - began)
}

function whole(rate: number): string {
  return Math.round(rate).toLocaleString('en')
}

/** The shipped rules for SIMs first, then rules like them with other thresholds. */
function ruleLike(n: number): Rule {
  const rule = shipped[n % shipped.length]
  if (rule === undefined) throw new Error('there is no shipped rule for SIMs')
  return n < shipped.length ? rule : { ...rule, name: `${rule.name}-${n}`, conditions: groupLike(rule.conditions) }
}

function groupLike(group: Group): Group {
  if ('all' in group) return { ...group, all: group.all.map(conditionLike) }
  if ('any' in group) return { ...group, any: group.any.map(conditionLike) }
  return { ...group, not: conditionLike(group.not) }
}

function conditionLike(condition: Condition): Condition {
  if (!('fact' in condition)) return groupLike(condition)
  const { fact, value } = condition
  const isAmount = factsOf('sim').get(fact)?.type === 'number' && typeof value === 'number'
  return isAmount ? { ...condition, value: Math.round(value * (0.5 + random())) } : condition
}

/** The facts of a SIM, each as likely as any other value of its kind. */
function factsOfSim(): Facts {
  return Object.fromEntries([...factsOf('sim')].map(([name, fact]) => [name, valueOf(fact)]))
}

function valueOf({ type, unit, codes, nullable }: Fact): Facts[string] {
  if (nullable && random() < 0.1) return null
  if (type === 'boolean') return random() < 0.5
  if (type === 'string') return `text ${Math.floor(random() * 10)}`
  if (codes !== null) return Object.values(codes)[Math.floor(random() * Object.keys(codes).length)] ?? 0
  const value = random() * (unit === '%' ? 120 : 10)
  return type === 'integer' ? Math.floor(value) : value
}

/** Numbers from 0, below 1: the same in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
