/** Rule files as they come from tired hands and from attackers, made at random from a seed. */
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import type { Random } from '../../setup/seed.ts'

/** Pieces of text that break readers, stores, terminals or mails. */
const TEXTS = [
  '',
  '\u0000',
  '\\u0000',
  '\ud83d',
  '\\ud83d',
  '\u202e',
  '\\u2066',
  '\ufeff',
  '\u2028',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '// x\n',
  '__proto__',
  'constructor',
  '{{',
  '}}',
  '{{usageMB}}',
  '{{__proto__}}',
  '{{{html}}}',
  '{{ usageMB }} {{usageMB',
  '<script>alert()</script>',
  '\r\nBcc: thief@example.org\r\n\r\n',
  '=?utf-8?Q?Bank?=',
  '*'.repeat(120),
  `{{${' '.repeat(900)}`,
  'a'.repeat(2000),
  '['.repeat(5000),
  '{"a":'.repeat(2000),
  'P99999999999D',
  'PT0S',
  '100%',
  '-1%',
  '../../etc/passwd',
  "'; drop table sims; --",
  'معرض',
] as const

/** Values in the place of any other. Numbers that JSON writes and nobody means are texts here: see `asText`. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.1,
  2 ** 53,
  [],
  {},
  [[]],
  [null],
  { fact: 'usagePct' },
  { fact: '__proto__' },
  { condition: 'nothing' },
  { all: [] },
  { any: [{}] },
  { not: { not: {} } },
  { fact: 'usagePct', operator: 'known', value: true },
  { fact: 'usagePct', operator: 'not:not:equal', value: 1 },
  { fact: 'usagePct', operator: 'toString', value: 1 },
  { fact: 'usagePct', operator: 'in', value: Array.from({ length: 3000 }, (_, n) => n) },
  { all: Array.from({ length: 300 }, () => ({ fact: 'usagePct', operator: 'equal', value: 1 })) },
]
const NUMBERS = ['1e400', '-1e400', '1e-400', '-0', '9'.repeat(400), '0.1e1']
/** Edits that an author may well make: most of them leave a rule that is accepted. */
const HARMLESS: Readonly<Record<string, readonly unknown[]>> = {
  level: ['Info', 'Warning', 'Critical'],
  stage: ['off', 'shadow', 'log', 'notify', 'enforce'],
  once: ['cycle', 'episode'],
  message: ['x', '<b>{{usageMB}}</b>\r\nBcc: x', '{{ usageMB }} {{usageMB}}', '𝕏'.repeat(499)],
  description: ['x', 'a'.repeat(500), '<!-- -->', '=cmd()'],
  resolvedMessage: ['{{usagePct}} % \u2028 now', '.\r\n.'],
  tag: ['*', '*'.repeat(128), 'a*b*c*', '<script>'],
  pool: ['*', '%', "'"],
  tenant: ['*'],
  for: ['PT0S', 'PT1S', 'P366D', '99%', '0%'],
  keepFiring: ['PT0S', 'P1D', '5%'],
  grace: ['PT0S', 'P366D'],
  value: [0, -1, 1e308, 5e-324, 80, true, 'x'],
  type: ['usage', 'overage', 'a-b-c'],
  at: [0, 5e-324, 50, 80, 1e12],
  every: [0.01, 1e12],
}

/** The same for test files. */
export const HARMLESS_IN_TESTS: typeof HARMLESS = {
  title: ['x', 'a'.repeat(200), '<script>', '\r\n'],
  start: ['2026-11-01', '2000-01-01', '2099-12-31', '2026-02-28T23:59Z', '2026-13-01'],
  step: ['PT1S', 'PT1M', 'PT1H', 'P1D', 'P366D'],
  cycle: ['PT1M', 'PT5M', 'PT6H', 'P1D', 'P1M'],
  every: ['PT1S', 'P1D', 'P366D'],
  at: ['+0d', '+1s', '+1h', '+14d12h', '+366d'],
  from: ['+0d', '+12d'],
  away: [[['+0d', '+40d']], [['+1s', '+2s']], []],
  usageMB: [{ a: '10x999' }, { a: '0' }, { v1: '1e6x400' }, {}],
  a: ['1x1000', '_x1000', '10+5x900', '-1', '1e9 -1e9 1e9'],
  allowanceMB: [0, 1e-9, 1e9],
  mode: ['Disabled', 'Monitor', 'Enforce'],
  warningThresholdPct: [1, 100],
  exempt: [true, false],
  tag: ['*', ''],
  MB: [-1e9, 1e9, 0],
  status: ['Active', 'Suspended'],
  expect: [{}, { entries: [] }],
}

/** A set of one file: one of those given, with one to three hostile edits. @param harmless edits that an author may make */
export function hostileFile(files: readonly RuleSource[], random: Random, harmless = HARMLESS): RuleSource {
  const { file, text } = random.pick(files)
  const edits = 1 + random.below(3)
  if (random.chance(0.35)) return { file, text: edited(text, edits, textEdit, random) }
  const root: unknown = JSON.parse(text)
  const mayBeMeant = (now: unknown) => harmlessEdit(now, random, harmless)
  const value = edited(root, edits, random.chance(0.5) ? mayBeMeant : valueEdit, random)
  const json = JSON.stringify(value) ?? 'null'
  const number = random.chance(0.1)
  return { file, text: number ? json.replace(/:(-?\d[\d.]*)/, () => `:${random.pick(NUMBERS)}`) : json }
}

function edited<T>(value: T, times: number, edit: (value: T, random: Random) => T, random: Random): T {
  let now = value
  for (let time = 0; time < times; time += 1) now = edit(now, random)
  return now
}

/** Cuts a text off, cuts a piece out, puts a hostile piece in, or repeats one. */
function textEdit(text: string, random: Random): string {
  const [from, length] = [random.below(text.length + 1), random.below(40)]
  const [before, piece, after] = [text.slice(0, from), text.slice(from, from + length), text.slice(from + length)]
  const kind = random.below(4)
  if (kind === 0) return before
  if (kind === 1) return before + after
  return kind === 2 ? before + random.pick(TEXTS) + piece + after : before + piece + piece + after
}

type Members = Record<string, unknown>
const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null

/** All objects and lists in a value, itself included. */
function groupsIn(value: unknown): Members[] {
  return isMembers(value) ? [value, ...Object.values(value).flatMap(groupsIn)] : []
}

const setMember = (group: Members, name: string, value: unknown) =>
  Object.defineProperty(group, name, { value, enumerable: true, configurable: true, writable: true })

/** Replaces, removes, renames or adds a member anywhere. */
function valueEdit(root: unknown, random: Random): unknown {
  const groups = groupsIn(root)
  if (groups.length === 0) return root
  const group = random.pick(groups)
  const names = Object.keys(group)
  const name = names.length === 0 ? 'x' : random.pick(names)
  const other = random.chance(0.4) ? random.pick(TEXTS) : structuredClone(random.pick(VALUES))
  const kind = random.below(4)
  if (kind === 0) delete group[name]
  else if (kind === 1) setMember(group, random.pick(TEXTS), other)
  else setMember(group, name, kind === 2 ? other : structuredClone(group[random.pick(names) ?? name] ?? null))
  return root
}

/** Gives a field that is there, or might be, another value of its kind. */
function harmlessEdit(root: unknown, random: Random, harmless: typeof HARMLESS): unknown {
  const field = random.pick(Object.keys(harmless))
  const group = groupsIn(root).find((each) => field in each)
  if (group !== undefined) group[field] = structuredClone(random.pick(harmless[field] ?? []))
  return root
}
