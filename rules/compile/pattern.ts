/** Patterns of `match`, split once. */

/**
 * A function that says whether a text fits a pattern, as `fitsPattern` of `rules/engine/match.ts` does. It allocates
 * nothing.
 */
export function compilePattern(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let from = first.length
    for (const part of rest) {
      const at = text.indexOf(part, from)
      if (at < 0 || at + part.length > end) return false
      from = at + part.length
    }
    return true
  }
}
