/** How fast a long run gets on, of late: so that an outage long ago does not slow what is foretold. */

/** How many had ended at an instant, epoch milliseconds. */
export interface RateMark {
  readonly at: number
  readonly ended: number
}

/** Marks that are kept: at one every two seconds or more, the last half minute at least. */
const MOST_MARKS = 15

export interface Rate {
  /** Notes how many have ended by now. */
  mark(ended: number): void
  /** Ended in a second; 0 where that cannot be told yet. */
  perSecond(): number
  /** When so many more will have ended, ISO 8601; null where that cannot be told. */
  endOf(left: number): string | null
  /** For a continued run. */
  read(): readonly RateMark[]
}

/** @param carried what a continued run takes over */
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
