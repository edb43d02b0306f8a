/** The recent rate of a long run. An outage long ago does not distort the estimated end. */

/** How many items had ended at an instant (epoch milliseconds). */
export interface RateMark {
  readonly at: number
  readonly ended: number
}

/** How many marks are kept. At one every two seconds or longer, they cover about the last half minute or more. */
const MOST_MARKS = 15

export interface Rate {
  /** Records how many items have ended so far. */
  mark(ended: number): void
  /** Items per second, to two decimals; 0 if not known yet. */
  perSecond(): number
  /** When `left` more items will have ended, ISO 8601; null if none are left, or the rate is unknown. */
  endOf(left: number): string | null
  /** The marks, for a continued run. */
  read(): readonly RateMark[]
}

/** @param carried marks of the run that this one continues */
export function openRate(carried: readonly RateMark[] = []): Rate {
  const marks: RateMark[] = [...carried]
  const perSecond = () => {
    const [first, last] = [marks[0], marks.at(-1)]
    if (first === undefined || last === undefined || last.at <= first.at) return 0
    return (1000 * (last.ended - first.ended)) / (last.at - first.at)
  }
  return {
    mark(ended) {
      marks.push({ at: Date.now(), ended })
      if (marks.length > MOST_MARKS) marks.shift()
    },
    perSecond: () => Math.round(perSecond() * 100) / 100,
    endOf(left) {
      const rate = perSecond()
      if (left === 0 || rate === 0) return null
      return new Date(Date.now() + (1000 * left) / rate).toISOString()
    },
    read: () => [...marks],
  }
}
