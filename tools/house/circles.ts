/** Arrows between rooms, and the circles that they make. */
import type { CodeFile } from './code-file.ts'

/** Which rooms each room imports. */
export type Arrows = ReadonlyMap<string, ReadonlySet<string>>

/**
 * The arrows between rooms, types included.
 *
 * @param roomOf the room of a file by its path; undefined if it is in none
 */
export function arrowsOf(files: readonly CodeFile[], roomOf: (path: string) => string | undefined): Arrows {
  const arrows = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    const from = roomOf(path)
    if (from === undefined) continue
    const others = arrows.get(from) ?? new Set()
    arrows.set(from, others)
    for (const to of imports.map(({ path }) => roomOf(path))) {
      if (to !== undefined && to !== from) others.add(to)
    }
  }
  return arrows
}

/** Sets of at least two rooms, each of which reaches all others. */
export function circlesOf(arrows: Arrows): string[][] {
  const reach = new Map([...arrows.keys()].map((room) => [room, reachedFrom([room], (at) => arrows.get(at) ?? [])]))
  const circles = new Map<string, string[]>()
  for (const [room, others] of reach) {
    const circle = [...others].filter((other) => reach.get(other)?.has(room) === true).toSorted()
    if (circle.length > 1 && circle.includes(room)) circles.set(circle.join(), circle)
  }
  return [...circles.values()]
}

/** The rooms reached by at least one step. */
export function reachedFrom(starts: readonly string[], next: (at: string) => Iterable<string>): Set<string> {
  const seen = new Set<string>()
  const open = [...starts]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const to of next(at)) {
      if (seen.has(to)) continue
      seen.add(to)
      open.push(to)
    }
  }
  return seen
}
