/** Lint: defects that types show, and the boundaries between folders (tools/boundaries.ts). */
import { defineConfig, type OxlintOverride } from 'oxlint'
import { type Boundary, FLOORS } from './tools/boundaries.ts'

const ENV = { object: 'process', property: 'env', message: 'Settings are read in process/settings.ts and handed on.' }
const CLOCK = {
  object: 'Date',
  property: 'now',
  message: 'No clock here: time is a parameter, so that tests and retries give the same.',
}

const filesOf = (floor: string): string => (floor === 'rows' ? 'service/*/rows/**' : `${floor}/**`)

const lintOf = (floor: string, boundary: Boundary): OxlintOverride => ({
  files: [filesOf(floor)],
  rules: {
    'no-restricted-properties': ['error', ENV, ...(boundary.noClock === true ? [CLOCK] : [])],
    'house/no-bare-code': 'error',
    'house/no-new-date-now': boundary.noClock === true ? 'error' : 'off',
  },
})

/** The files that read the environment. */
const readersOf = ({ readsEnv }: Boundary): OxlintOverride[] =>
  readsEnv === undefined ? [] : [{ files: [readsEnv], rules: { 'no-restricted-properties': 'off' } }]

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import'],
  jsPlugins: ['./tools/lint-rules.ts'],
  categories: { correctness: 'error', suspicious: 'error' },
  ignorePatterns: ['node_modules', '.data', '.cache', 'dist', 'coverage', '**/generated/**', 'adapters/rest/*.d.ts'],
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
    'house/boundaries': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
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
    ...Object.entries(FLOORS).map(([floor, boundary]) => lintOf(floor, boundary)),
    ...Object.values(FLOORS).flatMap(readersOf),
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
