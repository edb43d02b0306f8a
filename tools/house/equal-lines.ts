/** Stretches of code that stand twice. */
import type { CodeFile } from './code-file.ts'

/** Lines that a stretch has at least. */
const LINES = 6

/** Counts pairs of places whose next six lines of code are equal. Longer stretches count once. */
export function countEqualStretches(files: readonly CodeFile[]): number {
  const places = new Map<string, string[]>()
  for (const [file, { code }] of files.entries()) {
    for (let line = 0; line + LINES <= code.length; line++) {
      const stretch = code.slice(line, line + LINES).join('\n')
      const known = places.get(stretch)
      if (known === undefined) places.set(stretch, [`${file}:${line}`])
      else known.push(`${file}:${line}`)
    }
  }
  const pairs = new Set([...places.values()].flatMap(pairsOf))
  return [...pairs].filter((pair) => !pairs.has(pair.replaceAll(/\d+(?= |$)/g, (line) => String(Number(line) - 1))))
    .length
}

const pairsOf = (places: readonly string[]): string[] =>
  places.flatMap((a, n) => places.slice(n + 1).map((b) => `${a} ${b}`))
