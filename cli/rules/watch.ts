/** `simherd rules watch <folder>`: says what each save has changed, and puts each good state in force where it is asked to. */
import { type FSWatcher, watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../config/index.ts'
import type { RuleSource } from '../../domain/watchdog/rule-source.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { loadRuleSet } from '../../rules/load/load.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { askingAboutRules, changeBody } from './ask.ts'
import { lineOfFault } from './check.ts'
import { findingsOf, lineOfFinding } from './lint.ts'
import { tellChanged } from './load.ts'

export interface WatchFlags {
  /** Whether to put each state without faults in force. */
  readonly load?: true
  readonly reason?: string
}

/** An editor writes in several steps. */
const SETTLES_MS = 100
/** No change is missed for longer, whatever the file system tells. */
const LOOKS_AGAIN_MS = 1000

/**
 * Watches a folder of rule files until the signal.
 *
 * @param settings reads the settings; called only where it loads
 * @throws CommandFailure if the folder cannot be read at the start; with exit code 4 if somebody else has changed the rules in force
 */
export async function watchFolder(
  folder: string,
  flags: WatchFlags,
  { settings, signal }: { readonly settings: () => Settings; readonly signal: AbortSignal },
): Promise<void> {
  await readRuleFiles(folder).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  const load = flags.load ? await loader(settings(), flags) : null
  let seen: Look = { text: '', says: new Map(), files: null }
  await eachChange(folder, signal, async () => {
    const now = await look(folder)
    if (now.text === seen.text) return
    for (const line of changesBetween(seen, now)) print(line)
    seen = now
    if (now.files !== null && load !== null) await load(now.files)
  })
}

/** What was found in a folder. */
interface Look {
  /** The files as one text: the same as long as none has changed. */
  readonly text: string
  /** What is wrong or odd, by what it is, wherever it stands: the line that is printed of it. */
  readonly says: ReadonlyMap<string, string>
  /** Null where they have a fault. */
  readonly files: readonly RuleSource[] | null
}

async function look(folder: string): Promise<Look> {
  const read = await readRuleFiles(folder).catch(wordsOf)
  if (typeof read === 'string') return { text: read, says: new Map([[read, read]]), files: null }
  const { rules, faults } = await loadRuleSet(read)
  // One check after another: what a further one finds is added here.
  const says = new Map([
    ...faults.map(
      ({ at, ...fault }) => [lineOfFault(fault), lineOfFault(at === undefined ? fault : { ...fault, at })] as const,
    ),
    ...(faults.length > 0 ? [] : findingsOf(read, rules)).map(
      (finding) => [`${finding.file}: ${finding.code}: ${finding.says}`, lineOfFinding(finding)] as const,
    ),
  ])
  return { text: JSON.stringify(read), says, files: faults.length > 0 ? null : read }
}

function changesBetween(before: Look, now: Look): string[] {
  const fresh = [...now.says].flatMap(([key, line]) => (before.says.has(key) ? [] : [line]))
  const gone = [...before.says.keys()].flatMap((key) => (now.says.has(key) ? [] : [`no longer: ${key}`]))
  const isSame = (before.files === null) === (now.files === null) && before.text !== ''
  const summary = now.files === null ? 'faults: see above' : `${now.files.length} files: no faults`
  return [...gone, ...fresh, ...(isSame ? [] : [summary])]
}

/** Puts files in force, as long as nobody else has put others in force since. */
async function loader(
  settings: Settings,
  { reason }: WatchFlags,
): Promise<(files: readonly RuleSource[]) => Promise<void>> {
  const inForce = await askingAboutRules(settings, (service) => responseOf(service.GET('/internal/rules')))
  let expect = inForce.refused?.version ?? inForce.version
  return async (files) => {
    const body = { files: [...files], ...changeBody({ expect, ...(reason === undefined ? {} : { reason }) }) }
    try {
      const changed = await askingAboutRules(settings, (service) =>
        responseOf(service.POST('/internal/rules', { body })),
      )
      expect = changed.version
      tellChanged({}, changed)
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.exitCode === ExitCode.conflict) throw error
      // Of a service that is away, or of another build: the next save tries again.
      print(error.message)
    }
  }
}

/** Works at once and after each change in a folder, until the signal. */
async function eachChange(folder: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  let change = Promise.withResolvers<void>()
  const watcher: FSWatcher = watch(folder, { recursive: true }, () => change.resolve())
  // A folder that is taken away is told by the next look.
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
