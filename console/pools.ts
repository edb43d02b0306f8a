import { dataOf, tryAnswer } from './answers.ts'
import type { Calls } from './calls.ts'

export interface PoolName {
  readonly id: number
  readonly name: string
}

/** Of larger estates, the others are shown by their ids. */
const MOST_POOLS = 100

/** Names of pools, for lists. None if they cannot be read. */
export async function readPoolNames({ outside }: Calls): Promise<readonly PoolName[]> {
  const pools = await tryAnswer(outside.GET('/api/pools', { params: { query: { pageSize: MOST_POOLS } } }))
  return dataOf(pools)?.data ?? []
}
