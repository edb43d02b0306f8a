/**
 * `node tools/house.ts`: the structure of the code as a table. A room is a file or folder directly on a floor. An arrow
 * is a pair of rooms of which one imports the other, types included. A circle is a set of rooms that import each other.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { FLOORS } from './boundaries.ts'

const ROOT = join(import.meta.dirname, '..')
/** The floors of lint, and one folder that is large enough for a line of its own. */
const SHOWN = [...Object.keys(FLOORS), 'api/internal']
const IMPORT = /\b(?:from\s+|import\s*\(\s*|import\s+)'(\.[^']*)'/g

const files = execFileSync('git', ['ls-files', '*.ts'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
const importsOf = new Map(
  files.map((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return [file, [...text.matchAll(IMPORT)].map(([, to = '']) => join(dirname(file), to))]
  }),
)

/** Sets of at least two rooms, each of which reaches all others. */
function circlesOf(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reached = (from: string): Set<string> => {
    const seen = new Set<string>()
    const open = [from]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const next of arrows.get(at) ?? []) {
        if (seen.has(next)) continue
        seen.add(next)
        open.push(next)
      }
    }
    return seen
  }
  const reach = new Map([...arrows.keys()].map((room) => [room, reached(room)]))
  const circles = new Map<string, string[]>()
  for (const [room, others] of reach) {
    const circle = [...others].filter((other) => reach.get(other)?.has(room) === true).toSorted()
    if (circle.length > 1 && circle.includes(room)) circles.set(circle.join(), circle)
  }
  return [...circles.values()]
}

function rowOf(floor: string) {
  const inFloor = (file: string) => file.startsWith(`${floor}/`)
  const roomOf = (file: string) => file.slice(floor.length + 1).split('/')[0] ?? ''
  const own = files.filter(inFloor)
  const arrows = new Map(own.map((file): [string, Set<string>] => [roomOf(file), new Set()]))
  for (const file of own) {
    for (const to of importsOf.get(file) ?? []) {
      if (inFloor(to) && roomOf(to) !== roomOf(file)) arrows.get(roomOf(file))?.add(roomOf(to))
    }
  }
  const pairs = [...arrows.values()].reduce((sum, { size }) => sum + size, 0)
  return { files: own.length, rooms: arrows.size, arrows: pairs, circles: circlesOf(arrows) }
}

console.log('| floor | files | rooms | arrows | circles |\n|---|---|---|---|---|')
for (const floor of SHOWN) {
  const row = rowOf(floor)
  if (row.files === 0) continue
  const circles = row.circles.length === 0 ? '0' : row.circles.map((circle) => circle.join(' ⇄ ')).join('; ')
  console.log(`| ${floor} | ${row.files} | ${row.rooms} | ${row.arrows} | ${circles} |`)
}
const byFile = circlesOf(new Map([...importsOf].map(([file, to]) => [file, new Set(to)])))
console.log(`\nCircles of files: ${byFile.length}`)
for (const circle of byFile) console.log(`- ${circle.join(' ⇄ ')}`)
