/** Patterns of `match`, split once. */

/**
 * Makes a function that matches a text against a pattern, like `fitsPattern` of `rules/engine/match.ts`. It allocates
 * no memory.
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
