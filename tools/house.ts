/**
 * `node tools/house.ts [ROOT] [--since COMMIT]`: the structure of the code as tables, of this tree or of another.
 *
 * A room is a file or folder directly on a floor. An arrow is a pair of rooms of which one imports the other, types
 * included. A circle is a set of rooms that import each other. The figures of the second table are explained in
 * `tools/house/figures.ts`; subjects of commits are counted from COMMIT on.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path/posix'
import { parseArgs } from 'node:util'
import { FLOORS } from './boundaries.ts'
import { arrowsOf, circlesOf } from './house/circles.ts'
import { readCodeFiles } from './house/code-file.ts'
import { figuresOf } from './house/figures.ts'

/** The floors of lint, and a folder large enough for its own line. */
const SHOWN = [...Object.keys(FLOORS), 'api/internal']
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { since: { type: 'string', default: 'eee56e3' } },
})
const root = resolve(positionals[0] ?? join(import.meta.dirname, '..'))
const paths = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(root, path)))
const files = readCodeFiles(
  root,
  paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts')),
)

console.log('| floor | files | rooms | arrows | circles |\n|---|---|---|---|---|')
for (const floor of SHOWN) {
  const own = files.filter(({ path }) => path.startsWith(`${floor}/`))
  if (own.length === 0) continue
  const rooms = arrowsOf(own, (path) =>
    path.startsWith(`${floor}/`) ? path.slice(floor.length + 1).split('/')[0] : undefined,
  )
  const arrows = [...rooms.values()].reduce((sum, { size }) => sum + size, 0)
  const circles = circlesOf(rooms).map((circle) => circle.join(' ⇄ '))
  console.log(`| ${floor} | ${own.length} | ${rooms.size} | ${arrows} | ${circles.join('; ') || 0} |`)
}
const byFile = circlesOf(arrowsOf(files, (path) => path))
console.log(`\nCircles of files: ${byFile.length}`)
for (const circle of byFile) console.log(`- ${circle.join(' ⇄ ')}`)

console.log('\n| figure | now | wanted |\n|---|---|---|')
for (const { name, now, wanted } of figuresOf({ root, paths, files }, values.since)) {
  console.log(`| ${name} | ${now} | ${wanted} |`)
}
