/**
 * The load gate checks a set of rule files as a whole before it may replace another. It reports all faults at once.
 * With a single fault, it loads no rules.
 */

import { LogLevel } from '../../domain/codes.ts'
import { isTestName, type RuleSource } from '../../domain/rules/rule-source.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { factsRead, type Group } from '../conditions.ts'
import { factsOf } from '../facts.ts'
import { type Ladder, withFirstStep } from '../ladder.ts'
import { matchedFacts } from '../matched-facts.ts'
import { othersFirst } from '../others-first.ts'
import { forOf, type Rule } from '../rule.ts'
import { BOUNDS, isRuleFile, type Match, RuleFile, SharedConditionFile } from '../rule-file.ts'
import { checkEvent, checkMatch, checkSuspendedStatuses, isEvent, isMatch, readLadder } from './check-event.ts'
import { checkExamples } from './check-examples.ts'
import { checkShape } from './check-shape.ts'
import { FaultList, isRecord, type RuleFault } from './faults.ts'
import { readConditions, type SharedSource } from './read-conditions.ts'
import { type ReadSource, readSource } from './read-source.ts'

export interface LoadedRuleSet {
  /** Sorted by name; empty if there are faults. */
  readonly rules: readonly Rule[]
  readonly faults: readonly RuleFault[]
}

/**
 * Checks and loads a set of rule files. Files in a folder named `conditions` contain shared conditions. Of test files it
 * checks the paths alone.
 */
export async function loadRuleSet(files: readonly RuleSource[]): Promise<LoadedRuleSet> {
  const faults = new FaultList()
  const count = files.filter(({ file }) => !isTestName(file)).length
  if (count > BOUNDS.files) {
    faults.of('')('', count, `at most ${BOUNDS.files} rule files`)
    return { rules: [], faults: faults.all }
  }
  const known = new Set<string>()
  const read = (file: RuleSource) =>
    checkPath(file, known, faults) && !isTestName(file.file) ? readSource(file, faults) : undefined
  return loadFiles(files, faults, read, true)
}

/** Loads a stored set. Texts and examples were checked at the push; rules are again: this build may refuse them. */
export function loadStoredRules(files: readonly RuleSource[]): Promise<LoadedRuleSet> {
  const faults = new FaultList()
  const rules = files.filter(({ file }) => !isTestName(file))
  return loadFiles(rules, faults, (file) => readStored(file, faults), false)
}

async function loadFiles(
  files: readonly RuleSource[],
  faults: FaultList,
  readFile: (file: RuleSource) => ReadSource | undefined,
  withExamples: boolean,
): Promise<LoadedRuleSet> {
  const read: ReadSource[] = []
  for (const file of files) {
    const source = await faults.until(() => readFile(file))
    if (source !== undefined) read.push(source)
    await othersFirst()
  }
  await faults.until(() => checkNames(read))
  await faults.until(() => checkTags(read))
  const shared = await sharedOf(
    read.filter(({ file }) => isShared(file)),
    faults,
  )
  const rules: Rule[] = []
  for (const source of read.filter(({ file }) => !isShared(file))) {
    const rule = faults.isFull ? undefined : await faults.until(() => ruleOf(source, shared, withExamples))
    if (rule !== undefined) rules.push(rule)
    await othersFirst()
  }
  const inOrder = rules.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return { rules: faults.all.length > 0 ? [] : inOrder, faults: faults.all }
}

const isShared = (file: string): boolean => file.split('/').at(-2) === 'conditions'
const baseName = (file: string): string => (file.split('/').at(-1) ?? file).replace(/\.json$/, '')
const field = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined)

/** Paths stay below the folder on every system: no `..`, no drive, no backslash. */
const PATH = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*\/){0,8}[A-Za-z0-9_][A-Za-z0-9._-]*\.json$/

function checkPath({ file }: RuleSource, known: Set<string>, faults: FaultList): boolean {
  const report = faults.of(file)
  if (!PATH.test(file)) {
    report('', file, 'a path below the rules folder such as sim/sim-overage.json: letters, digits, ".", "_", "-"')
    return false
  }
  if (known.has(file)) report('', file, 'each file once')
  const fresh = !known.has(file)
  known.add(file)
  return fresh
}

function readStored({ file, text }: RuleSource, faults: FaultList): ReadSource | undefined {
  const report = faults.of(file)
  try {
    return { file, value: JSON.parse(text), report }
  } catch (error) {
    report('', error instanceof Error ? error.message : String(error), 'JSON')
    return undefined
  }
}

/** Checks that rules for the same tenants add up SIMs by few enough tags. */
function checkTags(sources: readonly ReadSource[]): void {
  const patterns = new Map<unknown, Set<unknown>>()
  for (const { value, report } of sources) {
    const match = field(value, 'match')
    const tag = field(value, 'subject') === 'tag' ? field(match, 'tag') : undefined
    const ofTenant = patterns.get(field(match, 'tenant')) ?? new Set()
    if (tag === undefined || ofTenant.has(tag)) continue
    patterns.set(field(match, 'tenant'), ofTenant.add(tag))
    if (ofTenant.size > BOUNDS.tagPatterns)
      report('/match/tag', tag, `at most ${BOUNDS.tagPatterns} patterns of rules of subject tag for the same tenants`)
  }
}

/** Checks that a rule's name is its file's name, and unique, because alerts are stored by it. */
function checkNames(sources: readonly ReadSource[]): void {
  const firsts = new Map<string, string>()
  for (const { file, value, report } of sources) {
    const name = field(value, 'name')
    if (typeof name !== 'string') continue
    if (name !== baseName(file)) report('/name', name, `"${baseName(file)}", the name of the file`)
    const key = `${isShared(file)}/${name}`
    const first = firsts.get(key)
    if (first !== undefined) report('/name', name, `a name of its own: ${first} has this one`)
    else firsts.set(key, file)
  }
}

const subjectOf = (value: unknown): SubjectKind | undefined =>
  SUBJECT_KINDS.find((subject) => subject === field(value, 'subject'))

async function sharedOf(sources: readonly ReadSource[], faults: FaultList): Promise<ReadonlyMap<string, SharedSource>> {
  const shared = new Map<string, SharedSource>()
  for (const { value, report } of sources) {
    await faults.until(() => checkShape(SharedConditionFile, value, '', report))
    const name = field(value, 'name')
    const subject = subjectOf(value)
    if (typeof name !== 'string' || subject === undefined) continue
    shared.set(name, { subject, conditions: field(value, 'conditions'), report })
  }
  // Check shared conditions that no rule uses yet, too.
  for (const [name, { subject, conditions, report }] of shared)
    await faults.until(() =>
      readConditions(conditions, '/conditions', { subject, facts: factsOf(subject), shared, report, inside: [name] }),
    )
  return shared
}

async function ruleOf(
  { file, value, report }: ReadSource,
  shared: ReadonlyMap<string, SharedSource>,
  withExamples: boolean,
): Promise<Rule | undefined> {
  checkShape(RuleFile, value, '', report)
  const subject = subjectOf(value)
  if (subject === undefined) return undefined
  const match = field(value, 'match') ?? {}
  const facts = isMatch(match) ? matchedFacts(subject, match) : factsOf(subject)
  const place = { subject, facts, shared, report, inside: [] }
  checkMatch(match, subject, report)
  const event = field(value, 'event')
  if (isMatch(match) && isEvent(event)) checkSuspendedStatuses(match, event, report)
  const rungs = field(value, 'ladder')
  const ladder = rungs === undefined ? null : readLadder(rungs, subject, report)
  // The event may use names of steps even if the ladder is wrong.
  if (isEvent(event)) checkEvent(event, subject, rungs === undefined ? null : (ladder ?? { fact: '' }), report)
  const given = field(value, 'conditions')
  if (given === undefined && rungs === undefined)
    report('/conditions', undefined, 'conditions: when the rule fires', 'or a ladder')
  const own = given === undefined ? null : readConditions(given, '/conditions', place)
  const ending = field(field(event, 'params'), 'clear')
  const clear = ending === undefined ? null : readConditions(ending, '/event/params/clear', place)
  if (!isRuleFile(value) || own === undefined || clear === undefined || ladder === undefined) return undefined
  const conditions = ladder === null ? own : withFirstStep(own, ladder)
  const level = levelFor(value, ladder)
  if (conditions === null || level === undefined) return undefined
  if (withExamples) await checkExamples({ subject, conditions, ladder, examples: value.examples }, report)
  return loaded(file, value, { conditions, clear, ladder, level })
}

/** The level of a rule: with a ladder, that of its last step. */
function levelFor({ event }: RuleFile, ladder: Ladder | null): LogLevel | undefined {
  if (ladder !== null) return ladder.steps.at(-1)?.level
  return event.params.level === undefined ? undefined : LogLevel[event.params.level]
}

/** Leaves out statuses that are those of a rule without any. */
function withoutDefault({ status, ...match }: Match): Match {
  const isDefault = status?.toSorted().join() === 'Active,Suspended'
  return status === undefined || isDefault ? match : { ...match, status }
}

function loaded(
  file: string,
  { name, description, subject, match = {}, event, lint = {} }: RuleFile,
  read: Pick<Rule, 'conditions' | 'clear' | 'ladder' | 'level'>,
): Rule {
  const { once, resolve = 'log', for: lasting = 'PT0S', keepFiring = 'PT0S' } = event.params
  const reads = (group: Group | null, what: 'cycleBound' | 'ofUsage') =>
    group !== null && factsRead(group).some((fact) => factsOf(subject).get(fact)?.[what] === true)
  return {
    name,
    file,
    description,
    subject,
    match: withoutDefault(match),
    event,
    ...read,
    resolve,
    for: forOf(lasting),
    keepFiring: forOf(keepFiring),
    muted: lint,
    cycleBound: once === 'cycle' || reads(read.conditions, 'cycleBound'),
    readsUsage: [read.conditions, read.clear].some((group) => reads(group, 'ofUsage')),
  }
}
