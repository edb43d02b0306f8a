/**
 * Which folder may import which, and why. Imports point downwards; test/ and tools/ may import anything. The
 * rule `house/boundaries` (tools/lint-rules.ts) reads these tables. The workflows' bundle has a table of its own.
 */

import { builtinModules } from 'node:module'
import packageJson from '../package.json' with { type: 'json' }
import { BUNDLED } from '../worker/bundled.ts'

const FOLDERS = [
  'domain',
  'rules',
  'store',
  'adapters',
  'service',
  'activities',
  'workflows',
  'process',
  'api',
  'console',
  'worker',
  'cli',
  'stack',
  'examples',
  'tools',
  'test',
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
  /** Its files that may read the environment, as a glob. */
  readonly readsEnv?: string
}

/** An adapter speaks to one other system, and imports no other adapter. */
const adapterOf = (system: string, packages: readonly string[]): Boundary => ({
  why: `adapters/ speak to other systems: this one to ${system}, without database and rules`,
  imports: ['domain'],
  packages,
})

/** By folder. A file belongs to the longest that fits; `rows` is the folder of a noun's SQL in `service/`. */
export const FLOORS: Readonly<Record<string, Boundary>> = {
  domain: {
    why: 'domain/ defines the words: it imports no other folder, no file, no network and no clock',
    imports: [],
    // A hash is arithmetic: ids of tickets are made from it. So are addresses and their networks.
    packages: ['typebox', 'node:crypto', 'ipaddr.js'],
    noClock: true,
  },
  rules: {
    why: 'rules/ decides, and the same facts always give the same result: no clock, file, network or database',
    imports: ['domain'],
    packages: ['typebox', 'json-rules-engine', '@humanwhocodes/momoa'],
    noClock: true,
  },
  store: {
    why: 'store/ is the SQL that every noun needs: it imports no noun, and of rules/ only types',
    imports: ['domain'],
    types: ['rules'],
    packages: ['kysely', 'pg', 'pg-copy-streams', 'node:crypto', 'node:fs', 'node:stream'],
    noClock: true,
  },
  'adapters/queues': adapterOf('BullMQ, with its Redis or PostgreSQL', [
    'bullmq',
    'ioredis',
    'pg',
    'node:timers',
    'node:util',
  ]),
  'adapters/temporal': adapterOf('Temporal', ['@temporalio/client', '@temporalio/common', 'node:timers', 'node:util']),
  'adapters/carrier': adapterOf('a carrier', []),
  'adapters/rest': adapterOf("the service's own REST interfaces, as callers see them", ['openapi-fetch', 'typebox']),
  'adapters/channels': {
    ...adapterOf('SMTP servers and webhooks', [
      'handlebars',
      'nodemailer',
      'node:crypto',
      'node:fs',
      'node:dns',
      'node:http',
      'node:https',
      'node:net',
    ]),
    noClock: true,
  },
  service: {
    why: 'service/ changes state, a folder a noun; it gets carrier, mail and queues as arguments, so it imports only their types',
    imports: ['domain', 'rules', 'store'],
    types: ['adapters'],
    packages: ['csv-stringify', 'typebox', 'kysely', 'node:crypto'],
    values: { 'adapters/carrier/network.ts': ['CarrierError'] },
    noClock: true,
  },
  rows: {
    why: 'rows/ is the SQL of a noun: from folders that decide or send, it imports only types',
    imports: ['domain', 'store'],
    types: ['rules', 'adapters'],
    packages: ['kysely', 'pg', 'pg-copy-streams', 'node:crypto', 'node:fs', 'node:stream'],
    noClock: true,
  },
  activities: {
    why: 'activities/ reach the service through its REST interface, like any client: never its database or its code',
    imports: ['domain', 'adapters/rest'],
    types: ['rules'],
    packages: ['@temporalio/activity', '@temporalio/common'],
  },
  workflows: {
    why: 'workflows/ is replayed, so its bundle holds only what worker/bundled.ts lists',
    imports: [],
    types: ['domain', 'activities'],
    packages: ['@temporalio/workflow'],
  },
  process: {
    why: 'process/ is what every long-running process has: it imports no entry point; the kind of process is an argument',
    imports: ['domain', 'rules', 'store', 'service', 'adapters/queues', 'adapters/temporal'],
    types: ['adapters'],
    readsEnv: 'process/{settings,child-env}.ts',
  },
  api: {
    why: 'api/ is the entry point by HTTP: it calls service/ and store/, and imports no other entry point and no workflow',
    imports: ['domain', 'rules', 'store', 'service', 'adapters/queues', 'adapters/temporal', 'process'],
    types: ['adapters'],
  },
  console: {
    why: 'console/ is the entry point of people: it asks the interfaces as any client, and never the store or the service',
    imports: ['domain', 'adapters/rest', 'process', 'api/http'],
    types: ['api'],
  },
  worker: {
    why: 'worker/ is the entry point of jobs and workflows: cli/ starts it and passes its settings',
    imports: ['domain', 'rules', 'store', 'service', 'adapters', 'activities', 'process'],
  },
  cli: {
    why: 'cli/ imports only what is shipped: tests and tools are not',
    imports: FOLDERS.filter((folder) => !['test', 'tools', 'workflows', 'activities'].includes(folder)),
  },
  stack: {
    why: 'stack/ starts servers, and does not import what they are used for',
    imports: ['domain'],
    readsEnv: 'stack/**',
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

/** The nouns, and which others each may import in `service/`: those below it. */
const NOUNS: Readonly<Record<string, readonly string[]>> = {
  tenants: [],
  usage: [],
  tariffs: [],
  pools: ['tariffs', 'usage'],
  sims: ['pools', 'tariffs', 'usage'],
  rules: ['tenants', 'pools', 'sims', 'usage'],
  tickets: ['sims', 'pools', 'tariffs', 'usage'],
  orders: ['sims'],
  alerts: ['rules', 'sims', 'pools', 'usage'],
  workflows: ['tickets', 'rules', 'sims', 'pools', 'usage'],
  enforcement: ['alerts', 'rules', 'sims', 'pools', 'usage', 'tenants'],
  'month-end': ['tickets', 'alerts', 'sims', 'usage', 'tenants'],
  watchdog: ['enforcement', 'alerts', 'rules', 'sims', 'pools', 'usage'],
  channels: ['month-end', 'alerts', 'sims', 'pools', 'usage', 'tenants'],
  backtests: [
    'channels',
    'watchdog',
    'month-end',
    'enforcement',
    'workflows',
    'alerts',
    'orders',
    'tickets',
    'rules',
    'sims',
    'pools',
    'tariffs',
    'usage',
    'tenants',
  ],
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
  const place = floorOf(file)
  const floor = place === undefined ? undefined : FLOORS[place]
  if (place === undefined || floor === undefined) return undefined
  const refuse = (what: string) => `${floor.why}; ${what}. (tools/boundaries.ts)`
  if (wanted.isPackage) {
    const isFree =
      isTypesOnly || floor.packages === undefined || !isOf(target, PACKAGES) || isOf(target, floor.packages)
    return isFree ? undefined : refuse(`of ${target} it imports types only`)
  }
  const from = nounOf(file)
  const to = nounOf(target)
  if (from !== undefined && to !== undefined && from !== to && !(NOUNS[from] ?? []).includes(to)) {
    return whyNotNoun(from, target)
  }
  if (place === 'rows' && to !== undefined && !target.includes('/rows/'))
    return isTypesOnly ? undefined : refuse(`of ${target} it imports types only`)
  const isOwn = isOf(target, [place === 'rows' ? 'service' : place])
  if (isOwn || !FOLDERS.includes(target.split('/')[0] ?? '') || isOf(target, floor.imports)) return undefined
  if (isBundled(file) && isBundled(target)) return undefined
  const named = floor.values?.[target]
  if (named !== undefined && values.every((value) => named.includes(value))) return undefined
  if (isOf(target, floor.types ?? [])) return isTypesOnly ? undefined : refuse(`of ${target} it imports types only`)
  return refuse(`it does not import ${target}`)
}

/** The floor of a file; undefined outside of all. */
function floorOf(path: string): string | undefined {
  if (nounOf(path) !== undefined && path.includes('/rows/')) return 'rows'
  const [folder = '', part = ''] = path.split('/')
  return [`${folder}/${part}`, folder].find((floor) => floor in FLOORS)
}

/** The noun of a file in `service/`; undefined elsewhere. */
const nounOf = (path: string): string | undefined => /^service\/([^/]+)\/./.exec(path)?.[1]

function whyNotNoun(from: string, target: string): string {
  const allowed = NOUNS[from] ?? []
  const which = allowed.length === 0 ? 'no other noun' : `of the nouns only ${allowed.join(', ')}`
  return `${from} imports ${which}; it does not import ${target}. (tools/boundaries.ts)`
}
