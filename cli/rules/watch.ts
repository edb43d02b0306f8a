/** `simherd rules watch <folder>`: prints the effect of each save; on request activates good states. */

import { type FSWatcher, watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { counted } from '../../domain/quantity.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { readRuleFolder } from '../../process/rule-files.ts'
import type { Settings } from '../../process/settings.ts'
import type { RuleFault } from '../../rules/load/faults.ts'
import { loadRuleSet } from '../../rules/load/load-rule-set.ts'
import { readTestFiles } from '../../rules/timeline/read-test-files.ts'
import { runTests, type TestResult } from '../../rules/timeline/run-tests.ts'
import { askOnce } from '../ask-service.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'
import { changeBody } from './ask.ts'
import { lineOfFault } from './check.ts'
import { findingsOf, lineOfFinding, type PlacedFinding } from './lint.ts'
import { printChanged } from './load.ts'

export interface WatchFlags {
  /** Whether to put each state in force that has no faults and passes its tests. */
  readonly load?: true
  readonly reason?: string
}

/** An editor writes in several steps. */
const SETTLES_MS = 100
/** No change is missed for longer, even without a file system event. */
const LOOKS_AGAIN_MS = 1000

/**
 * Watches a folder of rule files until the signal.
 *
 * @param settings reads the settings; called only to load
 * @throws CommandFailure if the folder cannot be read at the start; with exit code 4 if another person has changed the rules in force
 */
export async function watchFolder(
  folder: string,
  flags: WatchFlags,
  { settings, signal }: { readonly settings: () => Settings; readonly signal: AbortSignal },
): Promise<void> {
  await readRuleFolder(folder).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  const load = flags.load ? await loader(settings(), flags) : null
  let seen = NOT_YET
  await eachChange(folder, signal, async () => {
    const now = await look(folder)
    if (now.text === seen.text) return
    for (const line of changesBetween(seen, now)) print(line)
    seen = now
    if (now.files !== null && load !== null) await load(now.files)
  })
}

/** The findings in a folder. */
interface Look {
  /** The files as one text: the same as long as none has changed. */
  readonly text: string
  /** Printed line of each fault or finding, by its content without its place. */
  readonly says: ReadonlyMap<string, string>
  /** In a few words, whether this is a good state. */
  readonly summary: string
  /** Null if they have a fault, or a test fails. */
  readonly files: readonly RuleSource[] | null
}

const NOT_YET: Look = { text: '', says: new Map(), summary: '', files: null }

async function look(folder: string): Promise<Look> {
  const read = await readRuleFolder(folder).catch(wordsOf)
  if (typeof read === 'string') return { text: read, says: new Map([[read, read]]), summary: FAULTS, files: null }
  const text = JSON.stringify(read)
  const { rules, faults: ofRules } = await loadRuleSet(read.rules)
  // Test files are checked against the rules that they name: rules with faults cannot be.
  const tests = ofRules.length > 0 ? { files: [], faults: [] } : await readTestFiles(read.tests, rules)
  const faults = [...ofRules, ...tests.faults]
  if (faults.length > 0) return { text, says: new Map(faults.map(saidOfFault)), summary: FAULTS, files: null }
  const { results } = await runTests(tests.files, [])
  const failures = results.flatMap(failuresIn)
  const says = new Map([...findingsOf(read.rules, rules).map(saidOfFinding), ...failures])
  if (failures.length > 0) return { text, says, summary: 'tests fail: see above', files: null }
  const passed = results.length === 0 ? '' : `, ${counted(results.length, 'test')} passed`
  return {
    text,
    says,
    summary: `${counted(read.rules.length, 'file')}: no faults${passed}`,
    files: [...read.rules, ...read.tests],
  }
}

const FAULTS = 'faults: see above'

/** Its kind, and the printed line. */
type KeyedLine = readonly [what: string, line: string]

const saidOfFault = ({ at, ...fault }: RuleFault): KeyedLine => [
  lineOfFault(fault),
  lineOfFault(at === undefined ? fault : { ...fault, at }),
]

const saidOfFinding = (finding: PlacedFinding): KeyedLine => [
  `${finding.file}: ${finding.code}: ${finding.says}`,
  lineOfFinding(finding),
]

const failuresIn = ({ file, title, failures }: TestResult): KeyedLine[] =>
  failures.map(({ at, expected, got }) => {
    const says = `${title}: expected ${expected}, got ${got}`
    return [`${file}: ${says}`, `${file}:${at?.line ?? 1}:${at?.column ?? 1}: ${says}`]
  })

function changesBetween(before: Look, now: Look): string[] {
  const fresh = [...now.says].flatMap(([key, line]) => (before.says.has(key) ? [] : [line]))
  const gone = [...before.says.keys()].flatMap((key) => (now.says.has(key) ? [] : [`no longer: ${key}`]))
  return [...gone, ...fresh, ...(now.summary === before.summary ? [] : [now.summary])]
}

/** Puts files in force, unless another person has put others in force since. */
async function loader(
  settings: Settings,
  { reason }: WatchFlags,
): Promise<(files: readonly RuleSource[]) => Promise<void>> {
  const inForce = await askOnce(settings, (service) => service.GET('/internal/rules'))
  let expect = inForce.refused?.version ?? inForce.version
  return async (files) => {
    const body = { files: [...files], ...changeBody({ expect, ...dropUndefined({ reason }) }) }
    try {
      const changed = await askOnce(settings, (service) => service.POST('/internal/rules', { body }))
      expect = changed.version
      printChanged({}, changed)
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.exitCode === ExitCode.conflict) throw error
      // The service is unreachable or of another build: the next save tries again.
      print(error.message)
    }
  }
}

/** Works at once and after each change in a folder, until the signal. */
async function eachChange(folder: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  let change = Promise.withResolvers<void>()
  const watcher: FSWatcher = watch(folder, { recursive: true }, () => change.resolve())
  // The next look reports a removed folder.
  watcher.on('error', () => change.resolve())
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  try {
    while (!signal.aborted) {
      change = Promise.withResolvers<void>()
      await work()
      await Promise.race([change.promise, sleep(LOOKS_AGAIN_MS), ended])
      if (!signal.aborted) await sleep(SETTLES_MS)
    }
  } finally {
    watcher.close()
  }
}
