/** What benches print: the machine, medians and spreads, ratios beside their targets. */
import { cpus, totalmem } from 'node:os'

export const machine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2
}

/** `12,345 (11,000–13,000)`: the median and the range. */
export function spread(values: readonly number[]): string {
  const shown = (value: number) => value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 })
  return `${shown(median(values))} (${shown(Math.min(...values))}–${shown(Math.max(...values))})`
}
