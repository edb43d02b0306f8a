/**
 * Reads the text of a rule file, and refuses what `JSON.parse` would let through: names that occur twice (the last would
 * count), endless nesting, and text that cannot be stored or that reads otherwise than it is written. Positions are those
 * of an editor: lines and columns from 1.
 */
import { type MemberNode, parse, tokenize, type ValueNode } from '@humanwhocodes/momoa'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { isStorable } from '../../domain/text.ts'
import { BOUNDS } from '../rule-file.ts'
import { below, type FaultList, keysOf, type Report, type TextPlace } from './faults.ts'

/** Controls that reorder the text around them: it then shows otherwise than it compares (Trojan Source, 2021). */
const BIDI_CONTROL = /\p{Bidi_Control}/u

export interface ReadSource {
  readonly file: string
  readonly value: unknown
  readonly report: Report
}

/** Reads a file that comes in, and reports every such fault at its place. @returns undefined if it has no JSON */
export function readSource({ file, text, unreadable }: RuleSource, faults: FaultList): ReadSource | undefined {
  const refuse = (at: TextPlace, got: unknown, expected: string, hint?: string): undefined => {
    faults.of(file, () => placeIn(at))('', got, expected, hint)
  }
  if (unreadable !== undefined)
    return refuse({ line: unreadable.line, column: 1 }, 'other bytes', 'text in UTF-8', `it ${unreadable.fault}`)
  if (text.length > BOUNDS.fileChars)
    return refuse({ line: 1, column: 1 }, `${text.length} characters`, `at most ${BOUNDS.fileChars} characters`)
  const read = parsed(text)
  if ('error' in read) return refuse(read, read.error, 'JSON')
  if ('depth' in read) return refuse(read, read.depth, `brackets nested at most ${BOUNDS.textDepth} deep`)
  const { root, value } = read
  const report = faults.of(file, (pointer) => placeOf(root, pointer))
  checkNode(root, '', report)
  return { file, value, report }
}

/** Parses a text, after reading it token by token: what nests endlessly never reaches a parser. */
function parsed(
  text: string,
):
  | { readonly root: ValueNode; readonly value: unknown }
  | (TextPlace & { readonly error: string })
  | (TextPlace & { readonly depth: number }) {
  try {
    let open = 0
    let depth = 0
    let tooDeepAt: TextPlace | null = null
    for (const { type, loc } of tokenize(text)) {
      if (type === 'LBrace' || type === 'LBracket') depth = Math.max(depth, ++open)
      if (type === 'RBrace' || type === 'RBracket') open -= 1
      if (depth > BOUNDS.textDepth) tooDeepAt ??= loc.start
    }
    return tooDeepAt === null ? { root: parse(text).body, value: JSON.parse(text) } : { ...placeIn(tooDeepAt), depth }
  } catch (error) {
    return brokenAt(error, text)
  }
}

/**
 * The message is that of `JSON.parse`. So is the place, if the message has one; otherwise it is momoa's, whose errors
 * end in it: `(2:6)`.
 */
function brokenAt(error: unknown, text: string): TextPlace & { readonly error: string } {
  const words = messageOf(text) ?? String(error)
  const place = / at position \d+ \(line (\d+) column (\d+)\)$/.exec(words) ?? /\((\d+):(\d+)\)$/.exec(String(error))
  const lines = text.split('\n')
  return {
    error: words.replace(/( in JSON)? at position .*$/, '').replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, ''),
    line: place === null ? lines.length : Number(place[1]),
    column: place === null ? (lines.at(-1)?.length ?? 0) + 1 : Number(place[2]),
  }
}

/** Why a text is not JSON; undefined if it is. */
function messageOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function checkNode(node: ValueNode, pointer: string, report: Report): void {
  if (node.type === 'String') checkWords(node.value, pointer, 'text', report)
  if (node.type === 'Array') {
    for (const [n, { value }] of node.elements.entries()) checkNode(value, below(pointer, n), report)
  }
  if (node.type !== 'Object') return
  const lines = new Map<string, number>()
  for (const { name, value } of node.members) {
    const key = nameOf(name)
    const first = lines.get(key)
    if (first !== undefined) {
      report(
        below(pointer, key),
        key,
        'each name once',
        `it stands in line ${first} already, and again in line ${name.loc.start.line}`,
      )
    }
    lines.set(key, first ?? name.loc.start.line)
    checkWords(key, pointer, 'names of fields', report)
    checkNode(value, below(pointer, key), report)
  }
}

function checkWords(text: string, pointer: string, what: string, report: Report): void {
  if (!isStorable(text)) report(pointer, text, `${what} without U+0000 and halves of surrogate pairs`)
  const [control] = BIDI_CONTROL.exec(text) ?? []
  if (control === undefined) return
  const code = control.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  report(
    pointer,
    text,
    `${what} without controls of the writing direction`,
    `it has U+${code}, which shows it otherwise than it is`,
  )
}

const nameOf = (name: MemberNode['name']): string => (name.type === 'String' ? name.value : name.name)

/** Where pointers into a text stand. The text is JSON. */
export function placesIn(text: string): (pointer: string) => TextPlace {
  const root = parse(text).body
  return (pointer) => placeOf(root, pointer)
}

/** The place of a pointer's value; for a missing value, that of the nearest one around it. */
function placeOf(root: ValueNode, pointer: string): TextPlace {
  let node: ValueNode = root
  let at: TextPlace = root.loc.start
  for (const key of keysOf(pointer)) {
    const next = childOf(node, key)
    if (next === undefined) break
    node = next.value
    at = next.at
  }
  return placeIn(at)
}

const placeIn = ({ line, column }: TextPlace): TextPlace => ({ line, column })

function childOf(node: ValueNode, key: string): { value: ValueNode; at: TextPlace } | undefined {
  if (node.type === 'Array') {
    const element = node.elements[Number(key)]
    return element === undefined ? undefined : { value: element.value, at: element.loc.start }
  }
  if (node.type !== 'Object') return undefined
  const member = node.members.findLast(({ name }) => nameOf(name) === key)
  return member === undefined ? undefined : { value: member.value, at: member.name.loc.start }
}
