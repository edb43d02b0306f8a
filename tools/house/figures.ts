/** The figures of a tree, and which are wanted. Production is every folder but tests, tools, benches and examples. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path/posix'
import { arrowsOf, circlesOf, reachedFrom } from './circles.ts'
import type { CodeFile } from './code-file.ts'
import { countEqualStretches } from './equal-lines.ts'

export interface Figure {
  readonly name: string
  readonly now: string
  readonly wanted: string
}

export interface Tree {
  readonly root: string
  /** The files of git, by their paths. */
  readonly paths: readonly string[]
  readonly files: readonly CodeFile[]
}

const OTHER = /^(test|tools|examples)\//
/** Where the way of a usage record begins, and what it asks for. */
const WAY = [
  'api/internal/usage/usage.ts',
  'service/watchdog/evaluate-subjects.ts',
  'service/channels/send-mails.ts',
  'adapters/channels/mail/render-mail.ts',
]
/** Participles without -ed, and what stands like one for a noun. */
const IRREGULAR = new Set(
  `Begun Broken Came Chosen Done Found Given Gone Held Kept Known Left Lost Made Met Said Seen Sent Shown Taken Told
   Undone Whose Withheld Would Written`.split(/\s+/),
)
const LONG_LINES = 50
const MANY_PARAMETERS = 5

/** @param since the commit from which on subjects of commits are looked at */
export function figuresOf(tree: Tree, since: string): Figure[] {
  const production = tree.files.filter(({ path }) => path.includes('/') && !OTHER.test(path))
  const functions = production.flatMap((file) => file.functions)
  const long = functions.filter(({ lines }) => lines > LONG_LINES).length
  const wide = functions.filter(({ parameters }) => parameters >= MANY_PARAMETERS).length
  const participles = production.flatMap(({ types }) => types).filter(isParticiple).length
  const webhooks = production.filter(({ path, text }) => /webhook/i.test(text) && !path.includes('/channels/')).length
  const documents = ['README.md', 'ARCHITECTURE.md'].map((path) => linesOf(textsIn(tree, path)))
  const figure = (name: string, now: readonly (number | string)[], wanted: string): Figure => ({
    name,
    now: now.map((one) => (typeof one === 'number' ? one.toLocaleString('en') : one)).join('; '),
    wanted,
  })
  return [
    figure('production lines; files', [linesOf(production), production.length], '≤ 65,000; ≤ 670'),
    figure('test lines', [linesOf(tree.files.filter(({ path }) => path.startsWith('test/')))], '≤ 60,500'),
    figure('migrations', [tree.paths.filter((path) => /^store\/migrations\/.*\.sql$/.test(path)).length], '1'),
    figure('top folders', [topFolders(tree.paths)], '16'),
    figure('nouns in a circle; folders of `rules/` in a circle', inCircles(production), '0; 0'),
    figure('most files in one folder; folders above their limit', fullFolders(production), '18; 0'),
    figure('files that a usage record’s way imports (values only)', [wayOf(tree.files)], '≤ 190'),
    figure('pairs of six equal lines in production code', [countEqualStretches(production)], '≤ 3'),
    figure('names exported twice', [exportedTwice(production)], '≤ 30'),
    figure('files named as an export (outside rows, api, cli)', [namedAsExport(production)], '≥ 65 %'),
    figure(`functions over ${LONG_LINES} lines; with ${MANY_PARAMETERS} parameters`, [long, wide], '≤ 25; ≤ 10'),
    figure('types named by a bare participle', [participles], '≤ 35'),
    figure('files outside `channels/` that name webhooks', [webhooks], '≤ 16'),
    figure('lines of README; of ARCHITECTURE', documents, '≤ 100; ≤ 220'),
    figure('words of decisions', [wordsOf(textsIn(tree, 'docs/decisions/'))], '≤ 14,000'),
    figure(`commit subjects of at most 72 characters since ${since}`, [shortSubjects(tree.root, since)], '≥ 97 %'),
  ]
}

interface Text {
  readonly text: string
}

const textsIn = ({ root, paths }: Tree, place: string): Text[] =>
  paths.filter((path) => path.startsWith(place)).map((path) => ({ text: readFileSync(join(root, path), 'utf8') }))

const linesOf = (files: readonly Text[]): number =>
  files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
const wordsOf = (files: readonly Text[]): number =>
  files.reduce((sum, { text }) => sum + (text.match(/\S+/g)?.length ?? 0), 0)
const share = (part: number, of: number): string => (of === 0 ? 'none' : `${Math.round((100 * part) / of)} %`)

const topFolders = (paths: readonly string[]): number =>
  new Set(paths.filter((path) => path.includes('/') && !path.startsWith('.')).map((path) => path.split('/')[0])).size

/** Rooms are the nouns, and the folders of `rules/`, whose own files are one more. */
function inCircles(files: readonly CodeFile[]): number[] {
  const nounOf = (path: string) => /^service\/([^/]+)\//.exec(path)?.[1]
  const ruleFolderOf = (path: string) =>
    path.startsWith('rules/') ? dirname(path).split('/').slice(0, 2).join('/') : undefined
  return [nounOf, ruleFolderOf].map((roomOf) => circlesOf(arrowsOf(files, roomOf)).flat().length)
}

function limitOf(folder: string): number {
  if (folder === 'store') return 32
  return /^(domain|api\/http)$|\/rows$/.test(folder) ? 20 : 18
}

function fullFolders(files: readonly CodeFile[]): [string, string] {
  const folders = Map.groupBy(files, ({ path }) => dirname(path))
  const counts = [...folders]
    .map(([folder, { length }]) => ({ folder, length }))
    .toSorted((a, b) => b.length - a.length)
  const full = counts.filter(({ folder, length }) => length > limitOf(folder))
  const most = counts.find(({ folder }) => limitOf(folder) === 18)
  return [
    `${most?.length} (\`${most?.folder}\`)`,
    full.length === 0 ? '0' : full.map(({ folder, length }) => `\`${folder}\` ${length}`).join(' '),
  ]
}

function wayOf(files: readonly CodeFile[]): number | string {
  const byPath = new Map(files.map((file) => [file.path, file]))
  if (!WAY.every((path) => byPath.has(path))) return 'its files have moved (`WAY`)'
  const next = (at: string) =>
    (byPath.get(at)?.imports ?? []).filter(({ path, isType }) => !isType && byPath.has(path)).map(({ path }) => path)
  return new Set([...WAY, ...reachedFrom(WAY, next)]).size
}

function exportedTwice(files: readonly CodeFile[]): number {
  const names = files.flatMap(({ exports }) => [...new Set(exports)])
  return [...Map.groupBy(names, (name) => name).values()].filter(({ length }) => length > 1).length
}

/** Of the files that export something. Files of `rows/` are named after their table. */
function namedAsExport(files: readonly CodeFile[]): string {
  const looked = files.filter(({ path, exports }) => exports.length > 0 && !/^(api|cli)\/|\/rows\//.test(path))
  return share(
    looked.filter(({ path, exports }) => exports.map(kebab).includes(basename(path, '.ts'))).length,
    looked.length,
  )
}

const kebab = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()

const isParticiple = (name: string): boolean =>
  IRREGULAR.has(name) || (/^[A-Z][a-z]+ed$/.test(name) && !name.endsWith('eed'))

function shortSubjects(root: string, since: string): string {
  const log = execFileSync('git', ['log', '--no-merges', '--format=%s', `${since}..HEAD`], {
    cwd: root,
    encoding: 'utf8',
  })
  const subjects = log.split('\n').filter((line) => line !== '')
  return share(subjects.filter(({ length }) => length <= 72).length, subjects.length)
}
