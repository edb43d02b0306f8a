/**
 * Lint: defects that types show, and the boundaries between folders.
 *
 * Imports point downwards; which folder may import which, and why, is the table here. bench/, test/ and tools/ may import
 * what they like.
 */
import { builtinModules } from 'node:module'
import { defineConfig, type OxlintOverride } from 'oxlint'
import packageJson from './package.json' with { type: 'json' }

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
const IN_BUNDLE = ['domain/lifecycle.ts', 'domain/cycle.ts', 'domain/duration.ts']

interface Boundary {
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

const BOUNDARIES: Readonly<Record<string, Boundary>> = {
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

const PACKAGES = [...Object.keys(packageJson.dependencies), ...builtinModules.map((name) => `node:${name}`)]
const isOf = (name: string, packages: readonly string[]): boolean =>
  packages.some((allowed) => name === allowed || name.startsWith(`${allowed}/`))
const anyOf = (names: readonly string[]): string => `^(?:${names.join('|')})(?:/|$)`
const inside = (folders: readonly string[]): string[] => folders.map((folder) => `**/${folder}/**`)

const restrictedImports = (folder: string, { why, imports, types = [], packages, values = {} }: Boundary) => {
  const others = FOLDERS.filter((other) => other !== folder && !imports.includes(other))
  const message = `${why}. (oxlint.config.ts)`
  const onlyTypes = { message: `Only types: ${message}`, allowTypeImports: true }
  const patterns = [
    { group: inside(others.filter((other) => !types.includes(other))), message },
    ...Object.entries(values).flatMap(([file, names]) =>
      names === 'any' ? [] : [{ regex: `/${file}$`, allowImportNames: [...names], ...onlyTypes }],
    ),
    ...(packages === undefined
      ? []
      : [{ regex: anyOf(PACKAGES.filter((name) => !isOf(name, packages))), ...onlyTypes }]),
    // The last: where a pattern lets something through by `!`, those after it are not asked.
    ...(types.length === 0
      ? []
      : [{ group: [...inside(types), ...Object.keys(values).map((file) => `!**/${file}`)], ...onlyTypes }]),
  ]
  return { patterns }
}

const ENV = { object: 'process', property: 'env', message: 'Settings are read in config/ and handed on.' }
const CLOCK = {
  object: 'Date',
  property: 'now',
  message: 'No clock here: time is a parameter, so that tests and retries give the same.',
}

const lintOf = (folder: string, boundary: Boundary): OxlintOverride => ({
  files: [`${folder}/**`],
  rules: {
    'no-restricted-imports': ['error', restrictedImports(folder, boundary)],
    'no-restricted-properties': [
      'error',
      ...(boundary.mayReadEnv === true ? [] : [ENV]),
      ...(boundary.noClock === true ? [CLOCK] : []),
    ],
    'house/no-new-date-now': boundary.noClock === true ? 'error' : 'off',
  },
})

const IMPORTS_NOTHING = {
  group: ['*', '.*'],
  message: 'This file enters the workflow bundle: it imports nothing but types. (oxlint.config.ts)',
  allowTypeImports: true,
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import'],
  jsPlugins: ['./tools/lint-rules.ts'],
  categories: { correctness: 'error', suspicious: 'error' },
  ignorePatterns: ['node_modules', '.data', '.cache', 'dist', 'coverage', '**/generated/**'],
  rules: {
    // It is for Express: Fastify waits for its handlers.
    'oxc/no-async-endpoint-handlers': 'off',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/await-thenable': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
    'typescript/consistent-type-imports': 'error',
    'no-unused-vars': [
      'error',
      {
        argsIgnorePattern: '^_',
        varsIgnorePattern: '^_',
        destructuredArrayIgnorePattern: '^_',
        ignoreRestSiblings: true,
      },
    ],
    'import/no-cycle': 'error',
    'no-restricted-properties': ['error', ENV],
    // Of the two categories, what is taste and not ours.
    'consistent-return': 'off',
    'no-new': 'off',
    'no-shadow': 'off',
    'no-underscore-dangle': 'off',
    'import/no-named-as-default-member': 'off',
    'typescript/no-unnecessary-type-arguments': 'off',
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/no-unsafe-enum-comparison': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/no-array-sort': 'off',
  },
  overrides: [
    ...Object.entries(BOUNDARIES).map(([folder, boundary]) => lintOf(folder, boundary)),
    {
      files: IN_BUNDLE,
      rules: { 'no-restricted-imports': ['error', { patterns: [IMPORTS_NOTHING] }] },
    },
    {
      files: ['test/**'],
      rules: {
        'typescript/consistent-type-assertions': 'off',
        'typescript/no-explicit-any': 'off',
        'typescript/no-non-null-assertion': 'off',
        'typescript/no-unsafe-type-assertion': 'off',
        'typescript/require-array-sort-compare': 'off',
        'unicorn/no-array-fill-with-reference-type': 'off',
        // Servers of tests take handlers that fail by themselves.
        'typescript/no-misused-promises': ['error', { checksVoidReturn: false }],
        'no-restricted-properties': 'off',
      },
    },
  ],
})
