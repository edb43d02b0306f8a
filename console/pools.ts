import { dataOf, tryAnswer } from './answers.ts'
import type { Calls } from './calls.ts'
import type { Typed } from './parts/form.ts'
import type { Html } from './parts/html.ts'
import { choices } from './parts/list.ts'

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

/** A field for a pool: none until a person chooses. */
export const poolField = (pools: readonly PoolName[], typed: Typed): Html =>
  choices({ name: 'poolId', label: 'Pool', value: typed['poolId'] }, [
    ['', 'Choose a pool'],
    ...pools.map(({ id, name }) => [id, name] as const),
  ])
