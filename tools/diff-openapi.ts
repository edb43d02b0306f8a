/**
 * `node tools/diff-openapi.ts [COMMIT]`: how the OpenAPI documents differ from those of a commit, by default `main`: a
 * line for each field that is gone or new, under its operation or schema. Texts and examples are left out. The exit code
 * is 1 if there is a difference.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const DOCUMENTS = ['api/generated/openapi.json', 'api/generated/internal-openapi.json']
const TEXTS = new Set(['description', 'summary', 'title', 'example', 'examples'])

/** The leaves of a JSON value as `path: value`. A property may have the name of a text. */
function leavesOf(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return [`${path.join(' › ')}: ${JSON.stringify(value)}`]
  const isNamed = path.at(-1) === 'properties'
  const fields = Object.entries(value).filter(([name]) => isNamed || !TEXTS.has(name))
  if (fields.length === 0) return [`${path.join(' › ')}: ${Array.isArray(value) ? '[]' : '{}'}`]
  // Elements of a list of words, as in `required` and `enum`, have no order that matters.
  return fields.flatMap(([name, field]) =>
    Array.isArray(value) && typeof field !== 'object' ? leavesOf(field, path) : leavesOf(field, [...path, name]),
  )
}

const commit = process.argv[2] ?? 'main'
for (const path of DOCUMENTS) {
  const text = execFileSync('git', ['show', `${commit}:${path}`], { encoding: 'utf8', maxBuffer: 1e9 })
  const before = new Set(leavesOf(JSON.parse(text)))
  const after = new Set(leavesOf(JSON.parse(readFileSync(path, 'utf8'))))
  const lines = [
    ...[...before].flatMap((line) => (after.has(line) ? [] : [`- ${line}`])),
    ...[...after].flatMap((line) => (before.has(line) ? [] : [`+ ${line}`])),
  ].toSorted((a, b) => a.slice(2).localeCompare(b.slice(2)))
  console.log([`${path}: ${lines.length} differences from ${commit}`, ...lines].join('\n'))
  if (lines.length > 0) process.exitCode = 1
}
