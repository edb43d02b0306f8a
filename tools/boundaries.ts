/**
 * Which folder may import which, and why. Imports point downwards; bench/, test/ and tools/ may import what they like.
 * The rule `house/boundaries` (tools/lint-rules.ts) reads these tables, and the bundle of the workflows its own.
 */

import { builtinModules } from 'node:module'
import packageJson from '../package.json' with { type: 'json' }

const FOLDERS = [
  'domain',
  'config',
  'rules',
  'store',
  'queues',
  'notify',
  'network',
  'operations',
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

/** What workflows may run of domain/. */
export const IN_BUNDLE = ['domain/temporal/lifecycle.ts', 'domain/time/cycle.ts', 'domain/time/duration.ts']

export interface Boundary {
  /** What holds, and why: it is what the lint says where it is broken. */
  readonly why: string
  /** Folders it may import. Its own always. */
  readonly imports: readonly string[]
  /** Folders it may import types of. */
  readonly types?: readonly string[]
  /** Packages it may import; absent: any. Types of any package may be imported. */
  readonly packages?: readonly string[]
  /** Files it may import values from although their folder gives it only types: which values, or any. */
  readonly values?: Readonly<Record<string, readonly string[] | 'any'>>
  /** Time is a parameter there. */
  readonly noClock?: true
  readonly mayReadEnv?: true
}

export const FLOORS: Readonly<Record<string, Boundary>> = {
  domain: {
    why: 'domain/ says what the words mean: it knows no other folder, no file, no network and no clock',
    imports: [],
    // A hash is arithmetic: ids of tickets are made of it.
    packages: ['typebox', 'node:crypto'],
    noClock: true,
  },
  config: {
    why: 'config/ is read by everything: it imports only domain/',
    imports: ['domain'],
    packages: ['typebox'],
    mayReadEnv: true,
  },
  rules: {
    why: 'rules/ decides, and the same facts give the same findings: no clock, file, network or database',
    imports: ['domain'],
    packages: ['typebox', 'json-rules-engine'],
    noClock: true,
  },
  store: {
    why: 'store/ remembers: SQL and nothing else; what is decided or sent comes to it as a type',
    imports: ['domain'],
    types: ['notify', 'rules'],
    packages: ['kysely', 'pg', 'node:crypto', 'node:fs'],
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
    packages: ['handlebars', 'nodemailer', 'node:crypto', 'node:fs'],
    noClock: true,
  },
  network: {
    why: 'network/ speaks to a carrier: it knows no tickets table and no queue',
    imports: ['domain'],
    packages: [],
  },
  operations: {
    why: 'operations/ changes state through store/; carrier, mail and queues are handed to it, so it takes only their types',
    imports: ['domain', 'rules', 'store'],
    types: ['notify', 'network', 'queues'],
    packages: ['csv-stringify', 'qrcode', 'typebox', 'node:crypto'],
    values: { 'network/network.ts': ['CarrierError'] },
    noClock: true,
  },
  activities: {
    why: 'activities/ reach the service through its REST interface, like any client: never its database or its code',
    imports: ['domain'],
    types: ['rules'],
    packages: ['@temporalio/activity', '@temporalio/common', 'openapi-fetch'],
  },
  workflows: {
    why: 'workflows/ is replayed, so its bundle holds only workflows/ and three files of domain/ that import nothing',
    imports: [],
    types: ['domain', 'activities'],
    packages: ['@temporalio/workflow'],
    values: Object.fromEntries(IN_BUNDLE.map((file) => [file, 'any'])),
  },
  api: {
    why: 'api/ is the HTTP door: it asks operations/ and store/, and knows no other door and no workflow code',
    imports: ['domain', 'rules', 'store', 'operations', 'queues'],
    types: ['notify'],
  },
  worker: {
    why: 'worker/ is wired by cli/ and gets its settings and servers handed in',
    imports: FOLDERS.filter(
      (folder) => !['config', 'cli', 'stack', 'examples', 'bench', 'test', 'tools', 'workflows'].includes(folder),
    ),
    types: ['config'],
  },
  cli: {
    why: 'cli/ runs what is shipped: tests and tools are not',
    imports: FOLDERS.filter((folder) => !['bench', 'test', 'tools', 'workflows', 'activities'].includes(folder)),
    // The interfaces' types are generated there.
    types: ['activities'],
  },
  stack: {
    why: 'stack/ starts servers and knows nothing of what they are for',
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
  /** What it takes besides types; `*`: all there is. */
  readonly values: readonly string[]
}

const PACKAGES = [...Object.keys(packageJson.dependencies), ...builtinModules.map((name) => `node:${name}`)]
const isOf = (name: string, packages: readonly string[]): boolean =>
  packages.some((allowed) => name === allowed || name.startsWith(`${allowed}/`))

/** Why a file may not import that; undefined: it may. */
export function whyNotImport(file: string, wanted: Import): string | undefined {
  const { target, values } = wanted
  const isTypesOnly = values.length === 0
  if (IN_BUNDLE.includes(file) && !isTypesOnly) {
    return `${file} enters the bundle of the workflows: it imports nothing but types, and ${target} is more.`
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
  if (to === folder || !FOLDERS.includes(to) || floor.imports.includes(to)) return undefined
  const named = floor.values?.[target]
  if (named === 'any' || (named !== undefined && values.every((value) => named.includes(value)))) return undefined
  if (floor.types?.includes(to) === true) return isTypesOnly ? undefined : refuse(`of ${target} it imports types only`)
  return refuse(`it does not import ${target}`)
}
