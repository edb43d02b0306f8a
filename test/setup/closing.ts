/** What the closing lines of a test command say. */

export interface Closing {
  readonly passed: number
  /** Lines `failed: …`; at least one if the command failed. */
  readonly failed: readonly string[]
  /** Lines `flaky: …`. */
  readonly flaky: readonly string[]
}

/**
 * @param name of the command, for what it does not say itself
 * @param said all that it printed
 */
export function closingOf(name: string, said: string, exitCode: number): Closing {
  const lines = said.split('\n')
  const counts = lines.findLast((line) => /^\d+ passed, \d+ failed/.test(line))
  const failed = lines.filter((line) => line.startsWith('failed: '))
  if (counts === undefined) failed.push(`failed: ${name}: did not say how many passed (exit code ${exitCode})`)
  else if (exitCode !== 0 && failed.length === 0) failed.push(`failed: ${name}: ended with exit code ${exitCode}`)
  return {
    passed: Number(counts?.match(/^\d+/)?.[0] ?? 0),
    failed,
    flaky: lines.filter((line) => line.startsWith('flaky: ')),
  }
}
