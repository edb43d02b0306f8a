/** Suggestions for misspelled words. */

/** Edit distance of two words: insertions, deletions, replacements and swaps of neighbours. */
function distance(a: string, b: string): number {
  const width = b.length + 1
  const cells = Array.from({ length: (a.length + 1) * width }, () => 0)
  const at = (i: number, j: number): number => cells[i * width + j] ?? 0
  for (let i = 0; i <= a.length; i++) {
    for (let j = 0; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const least =
        i === 0 || j === 0
          ? i + j
          : Math.min(
              at(i - 1, j) + 1,
              at(i, j - 1) + 1,
              at(i - 1, j - 1) + change,
              swapped ? at(i - 2, j - 2) + 1 : Infinity,
            )
      cells[i * width + j] = least
    }
  }
  return at(a.length, b.length)
}

/** `did you mean …?` with the name most similar to a word, ignoring case; undefined if none is similar. */
export function didYouMean(word: string, names: Iterable<string>): string | undefined {
  const bound = Math.max(2, Math.floor(word.length / 3))
  let best: { readonly name: string; readonly by: number } | undefined
  // A word longer than any name costs time and is similar to none.
  if (word.length > 60) return undefined
  for (const name of names) {
    const by = distance(word.toLowerCase(), name.toLowerCase())
    // Most words of two or three letters are two changes away from any such name.
    const isSimilar = by <= Math.min(bound, Math.ceil(name.length / 2) - 1)
    if (isSimilar && (best === undefined || by < best.by)) best = { name, by }
  }
  return best && `did you mean ${best.name}?`
}
