/**
 * How many cases a test draws: a tenth of them in `npm test`, all of them in `npm run test:long`. `CASES=25` draws 25
 * times as many as all, for a long search.
 */

const TENTH = 0.1
const share = Number(process.env.CASES || TENTH)

/**
 * @param all cases of a long run
 * @param least cases that the test needs for its own tallies
 */
export const cases = (all: number, least = 1): number => Math.max(least, Math.ceil(all * share))
