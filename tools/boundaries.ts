/**
 * Which folder may import which, and why. Imports point downwards; bench/, test/ and tools/ may import anything. The
 * rule `house/boundaries` (tools/lint-rules.ts) reads these tables. The workflows' bundle has a table of its own.
 */

import { builtinModules } from 'node:module'
import packageJson from '../package.json' with { type: 'json' }
import { BUNDLED } from '../worker/bundled.ts'

const FOLDERS = [
  'domain',
  'config',
  'rules',
  'store',
  'queues',
  'notify',
  'network',
  'operations',
  'client',
  'process',
  'activities',
  'workflows',
  'api',
  'worker',
  'cli',
  'stack',
  'examples',
  'bench',
  'test',
  'tools',
]

export interface Boundary {
  /** The rule and its reason. Lint prints it when it is broken. */
  readonly why: string
  /** Folders it may import. It may always import its own. */
  readonly imports: readonly string[]
  /** Folders whose types it may import. */
  readonly types?: readonly string[]
  /** Packages it may import; absent: any. Types of any package may be imported. */
  readonly packages?: readonly string[]
  /** Files from which it may import these values, although it may import only types of their folder. */
  readonly values?: Readonly<Record<string, readonly string[]>>
  /** No clock: time is a parameter here. */
  readonly noClock?: true
  readonly mayReadEnv?: true
}

export const FLOORS: Readonly<Record<string, Boundary>> = {
  domain: {
    why: 'domain/ defines the words: it knows no other folder, no file, no network and no clock',
    imports: [],
    // A hash is arithmetic: ids of tickets are made from it. So are addresses and their networks.
    packages: ['typebox', 'node:crypto', 'ipaddr.js'],
    noClock: true,
  },
  config: {
    why: 'config/ is imported by everything: it imports only domain/',
    imports: ['domain'],
    packages: ['typebox'],
    mayReadEnv: true,
  },
  rules: {
    why: 'rules/ decides, and the same facts always give the same result: no clock, file, network or database',
    imports: ['domain'],
    packages: ['typebox', 'json-rules-engine', '@humanwhocodes/momoa'],
    noClock: true,
  },
  store: {
    why: 'store/ is SQL and nothing else: from folders that decide or send, it imports only types',
    imports: ['domain'],
    types: ['notify', 'rules'],
    packages: ['kysely', 'pg', 'pg-copy-streams', 'node:crypto', 'node:fs', 'node:stream'],
    noClock: true,
  },
  queues: {
    why: 'queues/ reaches BullMQ, with its Redis or PostgreSQL, and Temporal; what a job does is in operations/',
    imports: ['domain'],
    packages: ['bullmq', 'ioredis', 'pg', 'node:timers', 'node:util', '@temporalio/client', '@temporalio/common'],
  },
  notify: {
    why: 'notify/ renders and sends what it is given: no database, no queue',
    imports: ['domain'],
    packages: ['handlebars', 'nodemailer', 'node:crypto', 'node:fs', 'node:dns', 'node:http', 'node:https', 'node:net'],
    noClock: true,
  },
  network: {
    why: 'network/ speaks to a carrier: it knows no tickets table and no queue',
    imports: ['domain'],
    packages: [],
  },
  operations: {
    why: 'operations/ changes state through store/; it gets carrier, mail and queues as arguments, so it imports only their types',
    imports: ['domain', 'rules', 'store'],
    types: ['notify', 'network', 'queues'],
    packages: ['csv-stringify', 'typebox', 'node:crypto'],
    values: { 'adapters/carrier/network.ts': ['CarrierError'] },
    noClock: true,
  },
  activities: {
    why: 'activities/ reach the service through its REST interface, like any client: never its database or its code',
    imports: ['domain', 'client'],
    types: ['rules'],
    packages: ['@temporalio/activity', '@temporalio/common'],
  },
  client: {
    why: 'client/ is the REST interfaces as callers see them: it knows nothing of the service behind them',
    imports: ['domain'],
    packages: ['openapi-fetch', 'typebox'],
  },
  process: {
    why: 'process/ is what every long-running process has: it knows no door, and gets the kind of process as an argument',
    imports: ['domain', 'rules', 'store', 'operations', 'queues'],
    types: ['config'],
  },
  workflows: {
    why: 'workflows/ is replayed, so its bundle holds only workflows/, domain/temporal/ and domain/time/',
    imports: [],
    types: ['domain', 'activities'],
    packages: ['@temporalio/workflow'],
  },
  api: {
    why: 'api/ is the HTTP door: it calls operations/ and store/, and knows no other door and no workflow code',
    imports: ['domain', 'rules', 'store', 'operations', 'queues', 'process'],
    types: ['notify'],
  },
  worker: {
    why: 'worker/ is the door of jobs and workflows: cli/ starts it and passes its settings; it knows no other door',
    imports: [
      'domain',
      'rules',
      'store',
      'queues',
      'notify',
      'network',
      'operations',
      'activities',
      'client',
      'process',
    ],
    types: ['config'],
  },
  cli: {
    why: 'cli/ imports only what is shipped: tests and tools are not',
    imports: FOLDERS.filter((folder) => !['bench', 'test', 'tools', 'workflows', 'activities'].includes(folder)),
  },
  stack: {
    why: 'stack/ starts servers, and does not know what they are used for',
    imports: ['config', 'domain'],
    mayReadEnv: true,
  },
  examples: {
    why: 'examples/ describes an estate in the words of domain/, the same on every machine',
    imports: ['domain'],
    packages: ['csv-stringify'],
    noClock: true,
  },
}

export interface Import {
  /** Path in the repository, or the name of a package. */
  readonly target: string
  readonly isPackage: boolean
  /** Names of imported values, without types; `*`: everything. */
  readonly values: readonly string[]
}

/** Floors with a folder for each noun. */
const BY_NOUN = ['domain', 'store', 'operations']
/** The nouns, and which others each may import on its own floor. A floor's root is below them: it imports none. */
const NOUNS: Readonly<Record<string, readonly string[]>> = {
  tenants: [],
  usage: [],
  estate: ['usage'],
  tickets: ['estate', 'usage'],
  orders: ['estate'],
  workflows: ['tickets', 'estate'],
  enforcement: ['workflows', 'estate'],
  watchdog: ['enforcement', 'workflows'],
  'month-end': ['tickets', 'usage'],
  mail: ['month-end', 'tenants', 'watchdog'],
  webhooks: ['watchdog'],
  replay: ['tenants', 'usage', 'estate', 'tickets', 'workflows', 'enforcement', 'watchdog', 'month-end', 'mail'],
}

const PACKAGES = [...Object.keys(packageJson.dependencies), ...builtinModules.map((name) => `node:${name}`)]
const isOf = (name: string, packages: readonly string[]): boolean =>
  packages.some((allowed) => name === allowed || name.startsWith(`${allowed}/`))

const isBundled = (path: string): boolean => isOf(path, BUNDLED)

/** Why a file may not make this import; undefined if it may. */
export function whyNotImport(file: string, wanted: Import): string | undefined {
  const { target, values } = wanted
  const isTypesOnly = values.length === 0
  const mayBundle = isTypesOnly || isBundled(target)
  if (isBundled(file) && !isOf(file, ['workflows']) && !mayBundle) {
    return `${file} enters the bundle of the workflows: it imports only types from outside it, and ${target} is more.`
  }
  const folder = file.split('/')[0] ?? ''
  const floor = FLOORS[folder]
  if (floor === undefined) return undefined
  const refuse = (what: string) => `${floor.why}; ${what}. (tools/boundaries.ts)`
  if (wanted.isPackage) {
    const isFree =
      isTypesOnly || floor.packages === undefined || !isOf(target, PACKAGES) || isOf(target, floor.packages)
    return isFree ? undefined : refuse(`of ${target} it imports types only`)
  }
  const to = target.split('/')[0] ?? ''
  if (to === folder && BY_NOUN.includes(folder)) return whyNotNoun(file, target)
  if (to === folder || !FOLDERS.includes(to) || floor.imports.includes(to)) return undefined
  if (isBundled(file) && isBundled(target)) return undefined
  const named = floor.values?.[target]
  if (named !== undefined && values.every((value) => named.includes(value))) return undefined
  if (floor.types?.includes(to) === true) return isTypesOnly ? undefined : refuse(`of ${target} it imports types only`)
  return refuse(`it does not import ${target}`)
}

/** The noun of a file on a floor with nouns; undefined for a file next to them. */
const nounOf = (path: string): string | undefined => {
  const [, noun = '', file] = path.split('/')
  return file !== undefined && noun in NOUNS ? noun : undefined
}

function whyNotNoun(file: string, target: string): string | undefined {
  const [from, to] = [nounOf(file), nounOf(target)]
  if (to === undefined || from === to) return undefined
  const allowed = from === undefined ? [] : (NOUNS[from] ?? [])
  if (allowed.includes(to)) return undefined
  const which = allowed.length === 0 ? 'no other noun' : `of the nouns only ${allowed.join(' and ')}`
  return `${from ?? 'the root of a floor'} imports ${which}; it does not import ${target}. (tools/boundaries.ts)`
}
