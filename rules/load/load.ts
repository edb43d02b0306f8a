/**
 * The load gate checks a set of rule files as a whole before it may replace another. It reports all faults at once.
 * With a single fault, it loads no rules.
 */

import { LogLevel } from '../../domain/codes.ts'
import type { RuleSource } from '../../domain/watchdog/rule-source.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { factsRead, type Group } from '../conditions.ts'
import { factsOf } from '../facts.ts'
import { forOf, type Rule } from '../rule.ts'
import { BOUNDS, isRuleFile, RuleFile, SharedConditionFile } from '../rule-file.ts'
import { checkEvent, checkMatch, isEvent } from './check-event.ts'
import { checkExamples } from './check-examples.ts'
import { checkShape } from './check-shape.ts'
import { checkText } from './check-text.ts'
import { isRecord, type Report, type RuleFault, reporter } from './faults.ts'
import { readConditions, type Shared } from './read-conditions.ts'

export interface RuleSet {
  /** Sorted by name; empty if there are faults. */
  readonly rules: readonly Rule[]
  readonly faults: readonly RuleFault[]
}

/** Loads a set of rule files. Files in a folder named `conditions` contain shared conditions. */
export async function loadRuleSet(files: readonly RuleSource[]): Promise<RuleSet> {
  const faults: RuleFault[] = []
  if (files.length > BOUNDS.files) {
    const faultOf = reporter('', faults)
    faultOf('', files.length, `at most ${BOUNDS.files} rule files`)
    return { rules: [], faults }
  }
  const read = files.map((each) => readJson(each, reporter(each.file, faults))).filter((each) => each !== undefined)
  checkNames(read)
  const shared = sharedOf(read.filter(({ file }) => isShared(file)))
  const rules: Rule[] = []
  for (const source of read.filter(({ file }) => !isShared(file))) {
    const rule = await ruleOf(source, shared)
    if (rule !== undefined) rules.push(rule)
  }
  return { rules: faults.length > 0 ? [] : rules.toSorted((a, b) => (a.name < b.name ? -1 : 1)), faults }
}

interface Source {
  readonly file: string
  readonly value: unknown
  readonly report: Report
}

const isShared = (file: string): boolean => file.split('/').at(-2) === 'conditions'
const baseName = (file: string): string => (file.split('/').at(-1) ?? file).replace(/\.json$/, '')
const field = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined)

function readJson({ file, text }: RuleSource, report: Report): Source | undefined {
  if (text.length > BOUNDS.fileChars) {
    report('', `${text.length} characters`, `at most ${BOUNDS.fileChars} characters`)
    return undefined
  }
  try {
    const value: unknown = JSON.parse(text)
    checkText(value, report)
    return { file, value, report }
  } catch (error) {
    report('', error instanceof Error ? error.message : String(error), 'JSON')
    return undefined
  }
}

/** Checks that a rule's name is its file's name, and unique, because alerts are stored by it. */
function checkNames(sources: readonly Source[]): void {
  for (const { file, value, report } of sources) {
    const name = field(value, 'name')
    if (typeof name !== 'string') continue
    if (name !== baseName(file)) report('/name', name, `"${baseName(file)}", the name of the file`)
    const first = sources.find(
      (other) => isShared(other.file) === isShared(file) && field(other.value, 'name') === name,
    )
    if (first !== undefined && first.file !== file)
      report('/name', name, `a name of its own: ${first.file} has this one`)
  }
}

const subjectOf = (value: unknown): SubjectKind | undefined =>
  SUBJECT_KINDS.find((subject) => subject === field(value, 'subject'))

function sharedOf(sources: readonly Source[]): ReadonlyMap<string, Shared> {
  const shared = new Map<string, Shared>()
  for (const { value, report } of sources) {
    checkShape(SharedConditionFile, value, '', report)
    const name = field(value, 'name')
    const subject = subjectOf(value)
    if (typeof name !== 'string' || subject === undefined) continue
    shared.set(name, { subject, conditions: field(value, 'conditions'), report })
  }
  // Check shared conditions that no rule uses yet, too.
  for (const [name, { subject, conditions, report }] of shared) {
    readConditions(conditions, '/conditions', { subject, shared, report, inside: [name] })
  }
  return shared
}

async function ruleOf({ file, value, report }: Source, shared: ReadonlyMap<string, Shared>): Promise<Rule | undefined> {
  checkShape(RuleFile, value, '', report)
  const subject = subjectOf(value)
  if (subject === undefined) return undefined
  const place = { subject, shared, report, inside: [] }
  checkMatch(field(value, 'match'), subject, report)
  const event = field(value, 'event')
  if (isEvent(event)) checkEvent(event, subject, report)
  const given = field(value, 'conditions')
  const conditions = given === undefined ? undefined : readConditions(given, '/conditions', place)
  const ending = field(field(event, 'params'), 'clear')
  const clear = ending === undefined ? null : readConditions(ending, '/event/params/clear', place)
  if (!isRuleFile(value) || conditions === undefined || clear === undefined) return undefined
  await checkExamples({ subject, conditions, examples: value.examples }, report)
  return loaded(file, value, conditions, clear)
}

function loaded(file: string, source: RuleFile, conditions: Group, clear: Group | null): Rule {
  const { name, description, subject, match = {}, event } = source
  const { params } = event
  const facts = factsOf(subject)
  return {
    name,
    file,
    description,
    subject,
    match,
    conditions,
    clear,
    event,
    level: LogLevel[params.level],
    resolve: params.resolve ?? 'log',
    for: forOf(params.for ?? 'PT0S'),
    cycleBound: params.once === 'cycle' || factsRead(conditions).some((fact) => facts.get(fact)?.cycleBound === true),
  }
}
