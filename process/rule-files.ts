/** The rule files that a worker brings along, and puts in force at the first start. */

import { randomUUID } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { ServiceError } from '../domain/errors.ts'
import { decode } from '../domain/files/utf8.ts'
import { isTestName, type RuleSource } from '../domain/rules/rule-source.ts'
import packageJson from '../package.json' with { type: 'json' }
import { activeRuleVersion } from '../service/rules/rows/rule-sets.ts'
import { activateRules, inForceInstead, noteRefusedRules, type ReadRules } from '../service/rules/rules-in-force.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'
import type { Sweep } from './start-sweeps.ts'

const SHIPPED = fileURLToPath(new URL('../rules/', import.meta.url))

/** The worker, as named in the audit trail. */
const WORKER = { actor: 'service:worker', keyId: null, workflowId: null }

const isJson = (entry: Dirent): boolean =>
  entry.isFile() && entry.name.endsWith('.json') && !entry.name.endsWith('.schema.json')

/** Rule files of a folder, and the test files next to them. */
export interface RuleFolder {
  readonly rules: readonly RuleSource[]
  readonly tests: readonly RuleSource[]
}

/** The set of a first start. */
export interface FirstRules {
  readonly files: readonly RuleSource[]
  /** Its tests need not be run. */
  readonly isTested?: boolean
}

/** Reads the rule files of a folder, as {@link readRuleFolder} does. Test files are left out. */
export const readRuleFiles = async (dir: string): Promise<RuleSource[]> => [...(await readRuleFolder(dir)).rules]

/**
 * Reads the rule files (`*.json`, but not `*.schema.json`) and the test files (`*.test.json`) of a folder and its
 * subfolders.
 *
 * @param dir empty: the shipped rules
 * @throws Error with the folder, if it cannot be read or has no rule files
 */
export async function readRuleFolder(dir: string): Promise<RuleFolder> {
  const folder = dir === '' ? SHIPPED : dir
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new Error(`cannot read the rule files in ${folder}: name another folder, or set RULES_DIR`, { cause: error })
  })
  const paths = entries.filter((entry) => isJson(entry)).map((entry) => join(entry.parentPath, entry.name))
  if (!paths.some((path) => !isTestName(path)))
    throw new Error(`there is no rule file (*.json) in ${folder}: name another folder, or set RULES_DIR`)
  const files = await Promise.all(
    paths.toSorted().map(async (path) => sourceOf(relative(folder, path).replaceAll(sep, '/'), await readFile(path))),
  )
  return { rules: files.filter(({ file }) => !isTestName(file)), tests: files.filter(({ file }) => isTestName(file)) }
}

/** All files of a folder, with those of tests. Tests of the shipped rules have passed: each build runs them. */
export async function readFirstRules(dir: string): Promise<FirstRules> {
  const { rules, tests } = await readRuleFolder(dir)
  return { files: [...rules, ...tests], isTested: dir === '' }
}

/** A rule file from its bytes. The load gate reports bytes that are no text. */
export function sourceOf(file: string, bytes: Uint8Array): RuleSource {
  const decoded = decode(bytes)
  return 'text' in decoded ? { file, text: decoded.text } : { file, text: '', unreadable: decoded }
}

/**
 * Puts the rule files in force if no set ever was, at the first start. Later the set in the database counts, whatever
 * files a worker has (`simherd rules load` changes it). With any fault no set is in force, and the log names each
 * fault.
 *
 * @returns whether a set is in force
 */
export async function activateFirstRules(store: Store, first: FirstRules, log: Logger): Promise<boolean> {
  const inForce = await inPlatform(store, activeRuleVersion)
  if (inForce !== undefined) {
    log.info({ version: inForce }, 'the rules are in force')
    return true
  }
  try {
    const caller = { ...WORKER, requestId: randomUUID(), action: 'activateFirstRules' }
    const options = { expect: 0, isTested: first.isTested ?? false }
    const by = 'a worker at the first start'
    const { version } = await activateRules({ ...store, caller }, first.files, by, options)
    log.info({ version, files: first.files.length }, 'the first rules are in force')
    return true
  } catch (error) {
    // An operator has loaded others since: those count.
    if (error instanceof ServiceError && error.code === 'rules_moved') return activateFirstRules(store, first, log)
    if (!(error instanceof ServiceError && error.code === 'rules_rejected')) throw error
    for (const { pointer, detail } of error.errors)
      log.error({ pointer, reason: `${pointer}: ${detail}` }, 'a rule file has a fault')
    log.error('the rule files were not put in force: there are no rules yet')
    return false
  }
}

/** Checks whether this build refuses the newest rule set: logs it, and notes it for the operator. `/readyz` says it all the time. */
export const refusedRules = (store: Store, rules: ReadRules, log: Logger): Sweep => {
  let told = 0
  return {
    name: 'refused rules',
    run: async () => {
      const inForce = await inPlatform(store, rules)
      const version = inForce.refused?.version ?? 0
      if (inForce.refused !== null && version !== told) {
        await noteRefusedRules(store, rules, packageJson.version)
        const { reason } = inForce.refused
        log.error({ version, reason }, `the rules are refused by this build: ${inForceInstead(inForce)}`)
      }
      told = version
    },
  }
}
